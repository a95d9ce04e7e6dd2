//! The page without a campaign: the template, its policy and its colours.

use super::*;
use crate::pipeline::report_page::block::{Block, Entry, Fact, Table};
use crate::pipeline::report_page::chart::Fill;
use std::collections::BTreeMap;

/// A page with every kind of block, each with this text.
fn page_with(text: &str) -> String {
    let own = || text.to_owned();
    let mut table = Table::new(own(), &[("first", "text"), ("second", "code"), ("third", "number")]);
    table.row([own(), own(), own()]);
    table.sums = Some(vec![own(), own(), own()]);
    let blocks = vec![
        Block::text(text),
        Block::note(text),
        Block::heading(text),
        Block::Facts { facts: vec![Fact::new(text, text, text)] },
        Block::Legend { entries: vec![Entry::new(Fill::Review, text, text)] },
        Block::Table(table.clone()),
        Block::Table(table.opened_by(text)),
    ];
    rendered(context! {
        policy => policy("p {}"),
        style => "p {}",
        kind => PageKind::Report.as_str(),
        program => text,
        campaign => text,
        mode => text,
        origin => text,
        invented_by => text,
        made_at => text,
        sections => [Section { id: "a", heading: "A", blocks }],
    })
    .unwrap()
}

#[test]
fn text_of_every_kind_of_block_is_escaped() {
    let page = page_with("<script>alert('1')</script>\"&");
    assert!(page.starts_with(BEGINS), "{page}");
    assert!(!page.contains("<script") && !page.contains("alert('1')"), "{page}");
    // Each block once, the tables twice, and what is known of the campaign above them.
    assert_eq!(page.matches("&lt;script&gt;").count(), 31, "{page}");
}

#[test]
fn the_policy_allows_only_the_style_of_the_page() {
    let policy = policy("p {}");
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe") && policy != super::policy("p { }"), "{policy}");
    assert!(!STYLE.contains("url(") && !STYLE.contains("@import") && !STYLE.contains('<'), "a style loads nothing");
}

/// The colours of the style: the first set is for light, the second for dark.
fn colours() -> [BTreeMap<String, [f64; 3]>; 2] {
    let of = |set: &str| {
        let set = set.split('}').next().unwrap();
        let named = set.split(';').filter_map(|one| one.trim().split_once(": #"));
        let parsed = named.map(|(name, hex)| {
            let part = |at: usize| f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
            (name.trim_start_matches("--").to_owned(), [part(0), part(2), part(4)])
        });
        parsed.collect::<BTreeMap<_, _>>()
    };
    let mut sets = STYLE.split(":root {").skip(1);
    [of(sets.next().unwrap()), of(sets.next().unwrap())]
}

/// The contrast of two colours as WCAG defines it.
fn contrast(one: [f64; 3], other: [f64; 3]) -> f64 {
    let light = |[red, green, blue]: [f64; 3]| {
        let linear = |c: f64| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) };
        0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    };
    let (one, other) = (light(one), light(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn colours_have_the_contrast_of_wcag_aa_in_light_and_dark() {
    assert!((contrast([0.0; 3], [1.0; 3]) - 21.0).abs() < 0.01);
    for (set, name) in colours().into_iter().zip(["light", "dark"]) {
        assert_eq!(set.len(), 15, "{name}: {set:?}");
        for text in ["ink", "soft", "link", "bad"] {
            for behind in ["page", "panel", "note"] {
                let found = contrast(set[text], set[behind]);
                assert!(found >= 4.5 || (text == "bad" && behind != "page"), "{name}: {text} on {behind}: {found:.2}");
            }
        }
        for area in ["plain", "good", "bad", "open", "none", "odd", "note-rule"] {
            let found = contrast(set[area], set["page"]);
            assert!(found >= 3.0, "{name}: {area}: {found:.2}");
        }
        for fill in Fill::ALL {
            assert!(
                contrast(set[fill.colour()], set["track"]) >= 3.0,
                "{name}: {fill:?} beside the empty part of a bar"
            );
        }
    }
}
