//! Requirement lists in plain text and Markdown, read as intents.
//!
//! The goal is the first heading, or the first line that is not a list item. Every list item (`-`,
//! `*`, `+`, `1.`, `1)`) is a constraint, with its continuation lines. In a text without list
//! items, every paragraph is a constraint. Fenced code, tables and front matter are ignored.

/// A goal or constraint, and the line that it begins on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The text, joined into one line.
    pub text: String,
    /// The number of its first line, counted from 1.
    pub line: usize,
}

/// A requirement list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List {
    /// The goal; `None` if the text has neither a heading nor an introduction.
    pub goal: Option<Item>,
    /// The constraints, in order.
    pub items: Vec<Item>,
}

/// Reads a requirement list.
pub fn parse_list(text: &str) -> List {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader::default();
    let mut fence: Option<&str> = None;
    let mut front_matter = text.starts_with("---\n") || text.starts_with("---\r\n");
    for (at, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if front_matter {
            front_matter = at == 0 || trimmed != "---";
            continue;
        }
        if let Some(mark) = ["```", "~~~"]
            .into_iter()
            .find(|mark| trimmed.starts_with(mark))
        {
            match fence {
                Some(open) if open == mark => fence = None,
                None => fence = Some(mark),
                Some(_) => {}
            }
            reader.end_item();
            continue;
        }
        if fence.is_none() {
            reader.read_line(line, at + 1);
        }
    }
    reader.finish()
}

#[derive(Default)]
struct Reader {
    heading: Option<Item>,
    items: Vec<Item>,
    paragraphs: Vec<Item>,
    open: Open,
}

/// What the next line may continue.
#[derive(Default, PartialEq, Eq)]
enum Open {
    #[default]
    Nothing,
    Item,
    Paragraph,
}

impl Reader {
    fn end_item(&mut self) {
        self.open = Open::Nothing;
    }

    fn read_line(&mut self, line: &str, number: usize) {
        let trimmed = line.trim();
        if trimmed.is_empty()
            || trimmed.starts_with('|')
            || trimmed.starts_with("<!--")
            || is_rule(trimmed)
        {
            self.end_item();
        } else if let Some(title) = heading(trimmed) {
            self.end_item();
            self.heading.get_or_insert(Item {
                text: title.to_owned(),
                line: number,
            });
        } else if let Some(text) = list_item(trimmed) {
            self.items.push(Item {
                text: text.to_owned(),
                line: number,
            });
            self.open = Open::Item;
        } else {
            let list = match self.open {
                Open::Item => &mut self.items,
                _ => &mut self.paragraphs,
            };
            match list.last_mut() {
                Some(last) if self.open != Open::Nothing => {
                    last.text.push(' ');
                    last.text.push_str(trimmed);
                }
                _ => {
                    self.paragraphs.push(Item {
                        text: trimmed.to_owned(),
                        line: number,
                    });
                    self.open = Open::Paragraph;
                }
            }
        }
    }

    fn finish(mut self) -> List {
        let goal = self.heading.take();
        if !self.items.is_empty() {
            let goal = goal.or_else(|| self.paragraphs.into_iter().next());
            return List {
                goal,
                items: self.items,
            };
        }
        let mut paragraphs = self.paragraphs.into_iter();
        let goal = goal.or_else(|| paragraphs.next());
        List {
            goal,
            items: paragraphs.collect(),
        }
    }
}

fn heading(line: &str) -> Option<&str> {
    let title = line.trim_start_matches('#');
    let marks = line.len() - title.len();
    ((1..=6).contains(&marks) && title.starts_with(' '))
        .then(|| title.trim().trim_end_matches('#').trim_end())
}

/// Whether a line is `---`, `***` or `___`, or underlines a heading.
fn is_rule(line: &str) -> bool {
    line.len() >= 3
        && ["-", "*", "_", "="]
            .iter()
            .any(|mark| line.split(*mark).all(|between| between.trim().is_empty()))
}

fn list_item(line: &str) -> Option<&str> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match digits {
        0 => line.strip_prefix(['-', '*', '+', '•'])?,
        1..=3 => line[digits..].strip_prefix(['.', ')'])?,
        _ => return None,
    };
    let text = rest.strip_prefix([' ', '\t'])?.trim();
    // A task's checkbox is not part of its text.
    let text = ["[ ] ", "[x] ", "[X] "]
        .iter()
        .find_map(|task| text.strip_prefix(task))
        .unwrap_or(text);
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(list: &List) -> Vec<(usize, &str)> {
        list.items
            .iter()
            .map(|item| (item.line, item.text.as_str()))
            .collect()
    }

    #[test]
    fn list_markdown_heading_is_the_goal_and_items_are_constraints() {
        let list = parse_list(
            "# Build it\n\nIntro.\n\n- One\n  more\n- [ ] Two\n\n```\n- not this\n```\n1. Three\n",
        );
        assert_eq!(
            list.goal
                .as_ref()
                .map(|goal| (goal.line, goal.text.as_str())),
            Some((1, "Build it"))
        );
        assert_eq!(texts(&list), [(5, "One more"), (7, "Two"), (12, "Three")]);
    }

    #[test]
    fn list_plain_text_has_a_constraint_a_paragraph() {
        let list = parse_list("Build it\n\nOne\nmore\n\nTwo\n");
        assert_eq!(
            list.goal.as_ref().map(|goal| goal.text.as_str()),
            Some("Build it")
        );
        assert_eq!(texts(&list), [(3, "One more"), (6, "Two")]);
    }

    #[test]
    fn list_without_an_introduction_has_no_goal() {
        let list = parse_list("* One\r\n* Two\r\n");
        assert_eq!(list.goal, None);
        assert_eq!(texts(&list), [(1, "One"), (2, "Two")]);
        assert_eq!(parse_list(" \n"), List::default());
    }

    #[test]
    fn list_front_matter_tables_and_rules_are_left_out() {
        let list = parse_list("---\ntitle: x\n---\n# A\n---\n| a | b |\n- c\n");
        assert_eq!(texts(&list), [(7, "c")]);
    }
}
