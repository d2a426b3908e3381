//! Splits a proposal's command into words without a shell.
//!
//! A list of allowed programs would mean little if a shell could start others. So under a policy
//! with such a list, commands are split here, and whatever only a shell understands is refused. A
//! policy that allows any program passes commands to `/bin/sh -c`.

/// Why a command is not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum WordsError {
    /// It contains something that only a shell understands.
    #[error("`{0}` needs a shell, which the policy does not allow")]
    NeedsShell(char),
    /// A quote is not closed.
    #[error("a quote is not closed")]
    OpenQuote,
    /// There is nothing to run.
    #[error("there is no command")]
    Empty,
    /// The program is not on the list.
    #[error("`{0}` is not among allowed_commands")]
    NotAllowed(String),
}

/// Returns the arguments of a command, if the policy's list allows its program; an empty list
/// allows any.
pub(super) fn split_command(command: &str, allowed: &[String]) -> Result<Vec<String>, WordsError> {
    if command.trim().is_empty() {
        return Err(WordsError::Empty);
    }
    if allowed.is_empty() {
        return Ok(vec![
            "/bin/sh".to_owned(),
            "-c".to_owned(),
            command.to_owned(),
        ]);
    }
    let words = split_words(command)?;
    match words.first() {
        None => Err(WordsError::Empty),
        Some(program) if !allowed.contains(program) => Err(WordsError::NotAllowed(program.clone())),
        Some(_) => Ok(words),
    }
}

fn split_words(command: &str) -> Result<Vec<String>, WordsError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => word
                .get_or_insert_default()
                .push_str(&until(&mut chars, '\'')?),
            '"' => {
                let quoted = until(&mut chars, '"')?;
                // A shell would still interpret these inside double quotes.
                if let Some(found) = quoted.chars().find(|c| matches!(c, '$' | '`' | '\\')) {
                    return Err(WordsError::NeedsShell(found));
                }
                word.get_or_insert_default().push_str(&quoted);
            }
            '|' | '&' | ';' | '<' | '>' | '(' | ')' | '$' | '`' | '\\' | '*' | '?' | '[' | ']'
            | '{' | '}' | '~' | '#' | '!' | '\n' | '\r' | '\0' => {
                return Err(WordsError::NeedsShell(c));
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

fn until(chars: &mut std::str::Chars<'_>, end: char) -> Result<String, WordsError> {
    let mut text = String::new();
    for c in chars {
        if c == end {
            return Ok(text);
        }
        text.push(c);
    }
    Err(WordsError::OpenQuote)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(command: &str) -> Result<Vec<String>, WordsError> {
        split_command(command, &["node".to_owned(), "npm".to_owned()])
    }

    #[test]
    fn words_with_quotes_are_split() {
        let words = split(r#"node -e 'console.log("a b", $x)' "two words" ''"#);
        let expected = ["node", "-e", r#"console.log("a b", $x)"#, "two words", ""];
        assert_eq!(words.unwrap(), expected);
    }

    #[test]
    fn words_that_need_a_shell_are_refused() {
        for (command, found) in [
            ("node a | sh", '|'),
            ("node a; sh", ';'),
            ("node $(sh)", '$'),
            ("node > x", '>'),
        ] {
            assert_eq!(split(command), Err(WordsError::NeedsShell(found)));
        }
        assert_eq!(split("node 'x"), Err(WordsError::OpenQuote));
        assert_eq!(split("node \"`x`\""), Err(WordsError::NeedsShell('`')));
    }

    #[test]
    fn program_that_is_not_listed_is_refused() {
        for command in ["sh -c ls", "/usr/bin/node x", "./node", "NODE x"] {
            let program = command.split(' ').next().unwrap().to_owned();
            assert_eq!(split(command), Err(WordsError::NotAllowed(program)));
        }
        assert_eq!(split("  "), Err(WordsError::Empty));
    }

    #[test]
    fn any_program_is_allowed_by_an_empty_list() {
        let words = split_command("ls | wc", &[]).unwrap();
        assert_eq!(words, ["/bin/sh", "-c", "ls | wc"]);
    }
}
