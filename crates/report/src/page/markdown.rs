//! Markdown as markup, without anything that leads out of the page: a link becomes text with its
//! target, a picture its description, and HTML plain text.

use maud::{Markup, PreEscaped, Render as _, html};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// The most elements open at once; deeper ones are flattened.
const DEEPEST: usize = 32;
/// The most events of a text that are read. A short text can become very many.
const MOST_EVENTS: usize = 20_000;

/// The markup of a text.
pub(super) fn render(text: &str) -> Markup {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer::default();
    let mut events = Parser::new_ext(text, options);
    for event in events.by_ref().take(MOST_EVENTS) {
        writer.event(event);
    }
    let is_cut = events.next().is_some();
    let mut markup = writer.finish();
    if is_cut {
        markup
            .0
            .push_str(&html! { p.more { "… and more, which this page leaves out" } }.0);
    }
    markup
}

#[derive(Default)]
struct Writer {
    html: String,
    /// Names of open elements, with the text after their ends; `None` for flattened ones.
    open: Vec<(Option<&'static str>, String)>,
    is_in_head: bool,
}

impl Writer {
    /// Adds a text. Every text comes through here and is escaped.
    fn text(&mut self, text: &str) {
        text.render_to(&mut self.html);
    }

    fn begin(&mut self, name: &'static str, after: String) {
        let is_kept = self.open.len() < DEEPEST;
        if is_kept {
            self.html.push('<');
            self.html.push_str(name);
            self.html.push('>');
        }
        self.open.push((is_kept.then_some(name), after));
    }

    fn end(&mut self) {
        let Some((name, after)) = self.open.pop() else {
            return;
        };
        self.text(&after);
        if let Some(name) = name {
            self.html.push_str("</");
            self.html.push_str(name);
            self.html.push('>');
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(TagEnd::TableHead) => {
                self.end();
                self.end();
                self.is_in_head = false;
                self.begin("tbody", String::new());
            }
            Event::End(TagEnd::Table) => {
                self.end();
                self.end();
            }
            Event::End(_) => self.end(),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.begin("code", String::new());
                self.text(&text);
                self.end();
            }
            Event::FootnoteReference(name) => {
                self.text("[");
                self.text(&name);
                self.text("]");
            }
            Event::SoftBreak => self.html.push('\n'),
            Event::HardBreak => self.html.push_str("<br>"),
            Event::Rule => self.html.push_str("<hr>"),
            Event::TaskListMarker(is_done) => self.text(if is_done { "☑ " } else { "☐ " }),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let nothing = String::new;
        match tag {
            Tag::Paragraph => self.begin("p", nothing()),
            // Headings of a text from outside are not headings of the page.
            Tag::Heading { .. } => self.begin("strong", "\n".to_owned()),
            Tag::BlockQuote(_) => self.begin("blockquote", nothing()),
            Tag::CodeBlock(kind) => {
                let language = match &kind {
                    CodeBlockKind::Fenced(name) if !name.is_empty() => Some(name),
                    _ => None,
                };
                if let Some(name) = language {
                    self.begin("em", nothing());
                    self.text(name);
                    self.end();
                }
                self.begin("pre", nothing());
                // Makes wide text scrollable with the keyboard.
                if self.html.ends_with("<pre>") {
                    self.html.truncate(self.html.len() - 1);
                    self.html.push_str(" tabindex=\"0\">");
                }
            }
            Tag::List(Some(_)) => self.begin("ol", nothing()),
            Tag::List(None) => self.begin("ul", nothing()),
            Tag::Item => self.begin("li", nothing()),
            Tag::Table(_) => self.begin("table", nothing()),
            Tag::TableHead => {
                self.is_in_head = true;
                self.begin("thead", nothing());
                self.begin("tr", nothing());
            }
            Tag::TableRow => self.begin("tr", nothing()),
            Tag::TableCell if self.is_in_head => self.begin("th", nothing()),
            Tag::TableCell => self.begin("td", nothing()),
            Tag::Emphasis => self.begin("em", nothing()),
            Tag::Strong => self.begin("strong", nothing()),
            Tag::Strikethrough => self.begin("del", nothing()),
            Tag::Link { dest_url, .. } => self.begin("u", format!(" [{dest_url}]")),
            Tag::Image { dest_url, .. } => self.begin("em", format!(" [picture {dest_url}]")),
            _ => self.begin("div", nothing()),
        }
    }

    fn finish(mut self) -> Markup {
        while !self.open.is_empty() {
            self.end();
        }
        PreEscaped(self.html)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_leads_nowhere_and_runs_nothing() {
        let tricks = "# ✓ intact\n\n[click](javascript:alert(1)) ![x](http://evil/p.png)\n\n\
            <script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\n\
            [ref]: http://evil\n\n[ref] <http://auto.link>\n\n```html\n<b>x</b>\n```\n\n\
            | a | b |\n|---|---|\n| <i>1</i> | 2 |\n";
        let html = render(tricks).into_string();
        for never in ["<a", "<img", "<script", "<h1", "href", "src=\"", "<i>"] {
            assert!(!html.contains(never), "{never}: {html}");
        }
        for wanted in [
            "<strong>✓ intact\n</strong>",
            "<u>click [javascript:alert(1)]</u>",
            "&lt;script&gt;alert(1)&lt;/script&gt;",
            "<pre tabindex=\"0\">&lt;b&gt;x&lt;/b&gt;\n</pre>",
            "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>&lt;i&gt;1&lt;/i&gt;</td>",
            "</tbody></table>",
        ] {
            assert!(html.contains(wanted), "{wanted}: {html}");
        }
    }

    #[test]
    fn markdown_of_any_depth_and_length_is_bounded_and_closed() {
        let deep = "> ".repeat(5_000) + "x";
        let html = render(&deep).into_string();
        assert_eq!(
            html.matches("<blockquote>").count(),
            html.matches("</blockquote>").count()
        );
        assert!(html.matches("<blockquote>").count() <= DEEPEST);
        let long = "*a* ".repeat(50_000);
        assert!(render(&long).into_string().len() < 600_000);
    }
}
