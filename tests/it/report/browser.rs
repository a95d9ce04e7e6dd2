//! The page in a browser, at the width of a desktop and of a phone, in light and dark: nothing is wider than the window,
//! text is large enough to be read, and the style of the page is applied under its policy. Without Chromium, this says so
//! and does not run.

use super::{run, two_checks};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Measures the report in frames of these widths. The script is that of this page: the report has none, and its policy
/// would not allow one.
const MEASURE: &str = r#"<!DOCTYPE html><meta charset="utf-8"><pre id="found"></pre><script>
const found = document.getElementById("found"), widths = [1280, 390], all = [];
function measure(frame, width) {
  const page = frame.contentDocument, view = frame.contentWindow;
  page.querySelectorAll("details").forEach((one) => { one.open = true; });
  const wide = [], small = [];
  page.querySelectorAll("body *").forEach((one) => {
    const box = one.getBoundingClientRect(), style = view.getComputedStyle(one);
    if (box.right > width + 1 && box.width > 0 && !one.closest("thead, .skip, .patterns")) wide.push(one.tagName + "." + one.className);
    const hasText = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (hasText && parseFloat(style.fontSize) < 12 && !["TITLE", "DESC"].includes(one.tagName.toUpperCase())) small.push(one.tagName + " " + style.fontSize);
  });
  const body = view.getComputedStyle(page.body), root = page.documentElement;
  return { width, scroll: root.scrollWidth, wide: wide.slice(0, 9), small: small.slice(0, 9),
    background: body.backgroundColor, ink: body.color, maxWidth: body.maxWidth,
    headOfTables: view.getComputedStyle(page.querySelector("thead")).position };
}
let waiting = widths.length;
widths.forEach((width) => {
  const frame = document.createElement("iframe");
  frame.style.cssText = `border:0;width:${width}px;height:3000px`;
  frame.onload = () => {
    try { all.push(measure(frame, width)); } catch (error) { all.push({ error: String(error) }); }
    waiting -= 1;
    if (waiting === 0) found.textContent = JSON.stringify(all);
  };
  frame.src = "report.html";
  document.body.append(frame);
});
</script>"#;

/// The browser, if there is one.
fn chromium() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let found =
        names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|path| path.is_file());
    if found.is_none() {
        eprintln!("SKIPPED: chromium is not installed; the page was not looked at in a browser");
    }
    found
}

/// Runs the browser with a profile of its own.
fn browse(browser: &Path, folder: &Path, more: &[&str], page: &str) -> Vec<u8> {
    let profile = format!("--user-data-dir={}", folder.join("profile").display());
    let page = format!("file://{}", folder.join(page).display());
    let flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--allow-file-access-from-files",
        "--virtual-time-budget=20000",
    ];
    let said = Command::new(browser).args(flags).arg(profile).args(more).arg(page).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    said.stdout
}

fn measured(browser: &Path, folder: &Path, more: &[&str]) -> Vec<Value> {
    let said = browse(browser, folder, &[&["--dump-dom"], more].concat(), "measure.html");
    let text = String::from_utf8(said).unwrap();
    let found = text.split("<pre id=\"found\">").nth(1).and_then(|rest| rest.split("</pre>").next()).unwrap();
    serde_json::from_str(&found.replace("&quot;", "\"").replace("&amp;", "&"))
        .unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn the_page_fits_a_desktop_and_a_phone_in_light_and_dark() {
    let Some(browser) = chromium() else { return };
    let workspace = two_checks(200);
    run(&workspace, &["--max-credits", "1000"]).exits(3);
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.html");
    workspace.say(&["report", "out/2026-11", "--to", &report.display().to_string()]).exits(0);
    fs::write(folder.path().join("measure.html"), MEASURE).unwrap();
    let mut backgrounds = Vec::new();
    for more in [&[][..], &["--force-dark-mode"]] {
        let mut found = measured(&browser, folder.path(), more);
        found.sort_by_key(|one| one["width"].as_u64());
        let widths: Vec<_> = found.iter().map(|one| one["width"].as_u64()).collect();
        assert_eq!(widths, [Some(390), Some(1280)], "{found:?}");
        for one in &found {
            assert_eq!(one["scroll"], one["width"], "nothing scrolls sideways: {one:#}");
            assert_eq!((&one["wide"], &one["small"]), (&serde_json::json!([]), &serde_json::json!([])), "{one:#}");
            assert_eq!(one["maxWidth"], "992px", "the policy allows the style of the page: {one:#}");
        }
        assert_eq!((&found[0]["headOfTables"], &found[1]["headOfTables"]), (&"absolute".into(), &"static".into()));
        backgrounds.push(found[0]["background"].clone());
    }
    assert_eq!(backgrounds, ["rgb(255, 255, 255)", "rgb(18, 23, 30)"]);
    // Pictures and a print, which a person can look at.
    let keep = std::env::var_os("RESCREEN_KEEP_REPORT").map_or_else(|| folder.path().to_owned(), PathBuf::from);
    let picture = format!("--screenshot={}", keep.join("report.png").display());
    browse(&browser, folder.path(), &["--window-size=1280,4000", &picture], "report.html");
    let print = format!("--print-to-pdf={}", keep.join("report.pdf").display());
    browse(&browser, folder.path(), &["--no-pdf-header-footer", &print], "report.html");
    let begins = |name: &str, bytes: &[u8]| fs::read(keep.join(name)).unwrap().starts_with(bytes);
    assert!(begins("report.png", b"\x89PNG") && begins("report.pdf", b"%PDF"));
}
