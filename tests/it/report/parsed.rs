//! A page, read strictly: it is well-formed as XML, has only elements and attributes that the report needs, loads nothing
//! and has no script. Every reference leads to an element of the page, and every chart says what it shows.

use quick_xml::{
    Reader, XmlVersion,
    events::{BytesStart, Event},
};
use std::collections::{BTreeMap, BTreeSet};

/// The elements of a report.
const ELEMENTS: [&str; 54] = [
    "a", "b", "body", "caption", "circle", "code", "dd", "defs", "desc", "details", "div", "dl", "dt", "h1", "h2",
    "h3", "head", "header", "html", "li", "line", "main", "meta", "nav", "p", "path", "pattern", "rect", "section",
    "span", "strong", "style", "summary", "svg", "table", "tbody", "td", "text", "tfoot", "th", "thead", "title", "tr",
    "ul", "g", "ol", "em", "hr", "br", "h4", "i", "small", "time", "tspan",
];

/// Attributes that could load or run something, or that the policy of the page forbids.
const REFUSED: [&str; 12] = [
    "src",
    "srcset",
    "style",
    "action",
    "formaction",
    "data",
    "poster",
    "background",
    "ping",
    "manifest",
    "srcdoc",
    "xlink:href",
];

/// What a test looks at.
#[derive(Debug, Default)]
pub struct Page {
    /// The rows of each table by its caption: the cells of the head, of the body and of the foot.
    pub tables: BTreeMap<String, Vec<Vec<String>>>,
    /// All text, outside the style.
    pub text: String,
    /// The headings of the second level.
    pub headings: Vec<String>,
    /// What each figure of the overview says, by its name: the value and the detail.
    pub facts: BTreeMap<String, String>,
    /// The titles of the charts with their descriptions.
    pub charts: BTreeMap<String, String>,
    pub policy: String,
    pub has_warning: bool,
    ids: BTreeSet<String>,
    references: Vec<String>,
}

/// An element that is open.
struct Open {
    name: String,
    class: String,
    text: String,
}

impl Page {
    #[track_caller]
    pub fn read(html: &str) -> Page {
        assert!(html.starts_with("<!DOCTYPE html>\n<!-- rescreen report -->\n<html lang=\"en\">\n"), "{html}");
        let mut page = Page::default();
        let mut reader = Reader::from_str(html);
        let mut open: Vec<Open> = Vec::new();
        let (mut caption, mut row, mut fact) = (String::new(), Vec::new(), String::new());
        loop {
            match reader.read_event().unwrap_or_else(|error| panic!("not well-formed: {error}")) {
                Event::Start(start) => {
                    let element = page.element(&start);
                    open.push(element);
                }
                Event::Empty(start) => drop(page.element(&start)),
                Event::Text(text) => page.add(&mut open, &text.xml_content(XmlVersion::Implicit1_0)),
                Event::GeneralRef(name) => {
                    let text = match name.resolve_char_ref().unwrap() {
                        Some(letter) => letter,
                        None => match &*name {
                            "amp" => '&',
                            "lt" => '<',
                            "gt" => '>',
                            "quot" => '"',
                            other => panic!("the entity {other}"),
                        },
                    };
                    page.add(&mut open, &text.to_string());
                }
                Event::End(_) => {
                    let closed = open.pop().unwrap();
                    let text = closed.text.trim().to_owned();
                    match closed.name.as_str() {
                        "caption" => {
                            caption.clone_from(&text);
                            let known = page.tables.insert(text.clone(), Vec::new());
                            assert!(known.is_none(), "two tables are called `{text}`");
                        }
                        "th" | "td" => row.push(text.clone()),
                        "tr" => page.tables.get_mut(&caption).unwrap().push(std::mem::take(&mut row)),
                        "h2" => page.headings.push(text.clone()),
                        "dt" => fact.clone_from(&text),
                        "dd" => drop(page.facts.insert(fact.clone(), text.clone())),
                        "desc" => {
                            let title = page.charts.keys().find(|title| page.charts[*title].is_empty()).cloned();
                            page.charts.insert(title.expect("a description follows a title"), text.clone());
                        }
                        "title" if open.last().is_some_and(|parent| parent.class == "chart") => {
                            assert!(page.charts.insert(text.clone(), String::new()).is_none(), "two charts: {text}");
                        }
                        "p" if closed.class == "invented" => page.has_warning = true,
                        _ => {}
                    }
                    if let Some(parent) = open.last_mut() {
                        let space = if matches!(closed.name.as_str(), "b" | "li" | "p" | "div") { " " } else { "" };
                        parent.text.push_str(&closed.text);
                        parent.text.push_str(space);
                    }
                }
                Event::Eof => break,
                Event::DocType(_) | Event::Comment(_) => {}
                other => panic!("{other:?}"),
            }
        }
        assert!(open.is_empty(), "every element is closed");
        for reference in &page.references {
            assert!(page.ids.contains(reference), "nothing has the id `{reference}`");
        }
        assert!(page.charts.values().all(|description| !description.is_empty()), "{:?}", page.charts);
        assert!(page.policy.starts_with("default-src 'none'; style-src 'sha256-"), "{}", page.policy);
        page
    }

    fn add(&mut self, open: &mut [Open], text: &str) {
        let Some(element) = open.last_mut() else { return };
        element.text.push_str(text);
        if element.name != "style" {
            self.text.push_str(text);
        }
    }

    fn element(&mut self, start: &BytesStart<'_>) -> Open {
        let name = start.name().as_ref().to_owned();
        assert!(ELEMENTS.contains(&name.as_str()), "the element {name}");
        let attributes: BTreeMap<String, String> = start
            .attributes()
            .map(|attribute| {
                let attribute = attribute.unwrap();
                let value = attribute.normalized_value(XmlVersion::Implicit1_0).unwrap().into_owned();
                (attribute.key.as_ref().to_owned(), value)
            })
            .collect();
        let of = |key: &str| attributes.get(key).cloned().unwrap_or_default();
        for (key, value) in &attributes {
            assert!(!key.starts_with("on") && !REFUSED.contains(&key.as_str()), "{name} has {key}={value:?}");
        }
        if let Some(id) = attributes.get("id") {
            assert!(self.ids.insert(id.clone()), "two elements have the id `{id}`");
        }
        if let Some(target) = attributes.get("href") {
            self.references.push(target.strip_prefix('#').expect("a link leads to the page itself").to_owned());
        }
        if let Some(fill) = attributes.get("fill") {
            let pattern = fill.strip_prefix("url(#").and_then(|fill| fill.strip_suffix(')'));
            self.references.push(pattern.expect("a fill is a pattern of the page").to_owned());
        }
        self.references.extend(of("aria-labelledby").split_whitespace().map(str::to_owned));
        if name == "svg" && of("aria-hidden").is_empty() {
            assert!(
                of("role") == "img" && of("class") == "chart" && !of("aria-labelledby").is_empty(),
                "{attributes:?}"
            );
        }
        if of("http-equiv") == "Content-Security-Policy" {
            self.policy = of("content");
        }
        assert!(name != "meta" || of("http-equiv").is_empty() || self.policy == of("content"), "{attributes:?}");
        Open { name, class: of("class"), text: String::new() }
    }

    /// The rows of a table below its head.
    #[track_caller]
    pub fn rows(&self, caption: &str) -> &[Vec<String>] {
        let found = self.tables.iter().find(|(name, _)| name.starts_with(caption));
        let (_, rows) = found.unwrap_or_else(|| panic!("no table `{caption}`: {:?}", self.tables.keys()));
        &rows[1..]
    }

    /// The numbers in a column of a table, by the texts before it; the column is counted from 0.
    #[track_caller]
    pub fn numbers(&self, caption: &str, column: usize, named_by: usize) -> BTreeMap<Vec<String>, u64> {
        let rows = self.rows(caption).iter();
        rows.map(|row| (row[..named_by].to_vec(), number(&row[column]))).collect()
    }

    /// The value of a figure of the overview.
    #[track_caller]
    pub fn fact(&self, name: &str) -> u64 {
        let text = self.facts.get(name).unwrap_or_else(|| panic!("no figure `{name}`: {:?}", self.facts));
        number(text.split(' ').next().unwrap())
    }
}

/// A number as the page shows it.
#[track_caller]
pub fn number(text: &str) -> u64 {
    text.replace(',', "").parse().unwrap_or_else(|error| panic!("`{text}`: {error}"))
}
