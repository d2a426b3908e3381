//! `{db_name}`, `{{ start }}`; not code, route parameters, template talk or names that the text defines.

use super::{Bracket, chunk_around};

/// File name parts that a program fills at run time.
const RUNTIME: &[&str] = &[
    "code",
    "count",
    "date",
    "day",
    "dd",
    "ext",
    "file",
    "filename",
    "hash",
    "hour",
    "i",
    "id",
    "index",
    "key",
    "lang",
    "locale",
    "mm",
    "month",
    "n",
    "name",
    "no",
    "nr",
    "number",
    "page",
    "seq",
    "sha",
    "slug",
    "station",
    "time",
    "timestamp",
    "title",
    "type",
    "user",
    "uuid",
    "version",
    "week",
    "x",
    "y",
    "year",
    "yyyy",
    "z",
];

pub(super) fn is_blank(b: &Bracket<'_>) -> bool {
    let text = b.source.tagged.lexed.text;
    if matches!(b.before, '$' | '#' | '%' | '\\') {
        return b.first_word() == "your";
    }
    if !is_name(b.body) || b.in_code() {
        return false;
    }
    // `<AccountNo value={string} />`: an attribute; `the parameter {{min}}, default 1`: named as what it is.
    let named = any_of!(b.previous(),
        "parameter" "parameters" "variable" "variables" "argument" "macro");
    if b.before == '=' && b.known.markup || named {
        return false;
    }
    let weak = any_of!(b.first_word(),
        "name" "to" "link" "set" "add" "select" "todo" "missing" "unknown" "pending" "put" "enter" "choose");
    let asks = b.asks_to_fill() && !weak;
    if !asks && (b.is_explained() || b.known.is_defined(&b.lower) || b.is_example()) {
        return false;
    }
    if b.before.is_uppercase() || b.after == '\\' || b.before == '\\' {
        // `P{x}` of mathematics, `{app}\runtime` of an installer.
        return false;
    }
    if b.double {
        let template = !asks && talks_of_templates(b);
        return !template && !b.body.contains('.');
    }
    if b.asks_to_fill() && !any_of!(b.lower.as_str(), "name" "to" "todo") {
        return true;
    }
    if b.before.is_alphanumeric() && !matches!(b.after, '.' | '_' | '-' | '/' | ' ')
        || matches!(b.before, ')' | ']')
        || b.body.contains(' ') && b.before == '>'
    {
        // Code: `fn(){…}`, `[0-9]{n}`, `\documentclass[a4paper]{foresty}`.
        return false;
    }
    let (chunk_start, chunk_end) = chunk_around(text, b.at, b.end);
    let chunk = &text[chunk_start..chunk_end];
    if let Some((_, host)) = text[chunk_start..b.at].split_once("://") {
        // The host of an address is never filled at run time; its path may be.
        let in_path = host.contains('/');
        return !in_path
            || !(RUNTIME.binary_search(&b.lower.as_str()).is_ok() && b.before == '/'
                || any_of!(b.lower.as_str(), "z" "x" "y"));
    }
    let embedded = chunk
        .trim_matches(|c: char| {
            matches!(
                c,
                '{' | '}' | ',' | '.' | ';' | ':' | '(' | ')' | '"' | '\''
            )
        })
        .len()
        > b.body.len();
    // `Template id: {template_id}`
    let labelled = text[..b.at].trim_end().ends_with([':', '=']) && text[b.end..].trim().is_empty();
    if labelled && !embedded {
        return true;
    }
    let runtime = RUNTIME.binary_search(&b.lower.as_str()).is_ok()
        || RUNTIME.binary_search(&b.last_word()).is_ok();
    let path = chunk.trim_start_matches(['(', '"', '`']);
    if (b.before == '/' || b.after == '/') && (path.starts_with('/') || b.known.routes) {
        return !(embedded && b.known.is_word(&b.lower)
            || b.known.routes
            || !is_folder(path)
            || runtime);
    }
    if embedded {
        return !runtime && !b.known.is_word(&b.lower) && !b.talks_of_format();
    }
    // Standing free: `the database {db_name}`.
    !b.known.is_routed(&b.lower) && !b.talks_of_format()
}

fn is_name(body: &str) -> bool {
    body.starts_with(char::is_alphabetic)
        && body.split_whitespace().count() <= 5
        && body
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '?'))
}

/// The text itself speaks of a template language.
fn talks_of_templates(b: &Bracket<'_>) -> bool {
    let lexed = &b.source.tagged.lexed;
    (0..lexed.tokens.len().min(400)).any(|i| {
        any_of!(lexed.word(i),
            "template" "templates" "jinja" "jinja2" "handlebars" "mustache" "helm" "liquid" "twig" "blade" "interpolation"
            "vue" "angular" "recipe" "recipes" "playbook" "playbooks" "ansible" "i18next" "i18n" "nunjucks" "tera" "askama" "django"
            "eleventy" "hugo" "jekyll" "salt" "packer" "nomad" "svelte" "tasks" "loops" "loop" "plurals" "merge" "mailchimp"
            "airflow" "dbt" "macro" "macros" "yaml-template" "chart" "jinja-template" "postman" "cookiecutter" "go-template")
    })
}

/// A path in a file system, not of a web address.
fn is_folder(path: &str) -> bool {
    let first = path
        .trim_start_matches('/')
        .split('/')
        .next()
        .unwrap_or_default();
    any_of!(first,
        "data" "srv" "var" "etc" "opt" "home" "mnt" "usr" "tmp" "media" "Users" "share" "backup" "backups" "log" "logs"
        "archive")
}

#[cfg(test)]
mod tests {
    use super::RUNTIME;

    #[test]
    fn tables_are_sorted() {
        assert!(RUNTIME.windows(2).all(|w| w[0] < w[1]));
    }
}
