//! A hostile or careless environment: proxies that were not configured, files without a certificate, URLs that would
//! show the key or contain a secret.

use super::wire::{Answer, Wire, clear, json};
use crate::support::{
    program::{Said, rescreen},
    world::book,
};
use std::{fs, path::Path};
use tempfile::TempDir;

/// A folder with a book and a campaign file.
fn workspace(service: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("book.csv"), book(1..=2)).unwrap();
    let campaign = format!(
        "campaign = \"2026-11\"\nmode = \"production\"\n[service]\n{service}\n[input]\npaths = [\"book.csv\"]\nid = \"no\"\n\
         [budget]\nmax_credits = 10\nprices = {{ aml-screening = 1 }}\n[[check]]\nuse = \"aml-screening\"\n\
         fields.name = \"name\"\nfields.entity = {{ value = 0 }}\nfields.country = {{ value = \"za\" }}\n"
    );
    fs::write(folder.path().join("rescreen.toml"), campaign).unwrap();
    folder
}

fn run(folder: &Path) -> Said {
    Said::of(&mut rescreen(folder, &["run", "--config", "rescreen.toml", "--yes"]))
}

#[test]
fn a_proxy_of_the_environment_is_not_used_for_a_service_on_this_machine() {
    let (wire, proxy) = (Wire::new(|_, _| Answer::Bytes(clear())), Wire::new(|_, _| Answer::Bytes(clear())));
    let folder = workspace(&format!("url = \"{}\"", wire.url));
    let mut command = rescreen(folder.path(), &["run", "--config", "rescreen.toml", "--yes"]);
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
        command.env(name, &proxy.url);
    }
    Said::of(&mut command).exits(0);
    assert_eq!((wire.checks().len(), proxy.messages().len()), (2, 0));
}

#[test]
fn a_proxy_of_the_environment_is_used_and_named_without_its_password() {
    let proxy = Wire::new(|_, _| Answer::Bytes(json("502 Bad Gateway", "")));
    let (place, with_password) = (proxy.url.replace("http://", ""), proxy.url.replace("//", "//me:hunter2@"));
    let folder = workspace("url = \"https://service.example\"");
    for (name, value, is_used) in [
        ("HTTPS_PROXY", with_password.as_str(), true),
        ("https_proxy", place.as_str(), true),
        ("ALL_PROXY", proxy.url.as_str(), true),
        ("HTTP_PROXY", proxy.url.as_str(), false),
    ] {
        let before = proxy.messages().len();
        let mut command = rescreen(folder.path(), &["run", "--config", "rescreen.toml", "--yes", "--for", "2s"]);
        let said = Said::of(command.env(name, value));
        let messages = &proxy.messages()[before..];
        assert_eq!(!messages.is_empty(), is_used, "{name}: {}", said.stderr);
        for message in messages {
            assert!(message.head.starts_with("CONNECT service.example:443"), "{}", message.head);
            let auth = (name == "HTTPS_PROXY").then_some("Basic bWU6aHVudGVyMg==");
            assert_eq!((message.header("x-api-key"), message.header("proxy-authorization")), (None, auth));
        }
        assert_eq!(said.stderr.contains(&format!("proxy {place} ({name})")), is_used, "{}", said.stderr);
        assert!(!(said.stderr + &said.stdout).contains("hunter2"), "{name}");
    }
}

#[test]
fn a_flag_goes_before_the_campaign_file_and_both_before_the_environment() {
    let wires = || Wire::new(|_, _| Answer::Bytes(json("502 Bad Gateway", "")));
    let (flag, file, environment) = (wires(), wires(), wires());
    let counts = || [&flag, &file, &environment].map(|proxy| proxy.messages().len());
    let in_file = format!("proxy = \"{}\"", file.url);
    let with_flag: &[&str] = &["--proxy", &flag.url];
    for (settings, flags, exceptions, used) in [
        (in_file.as_str(), with_flag, "", Some(0)),
        (&in_file, &[], "*", Some(1)),
        ("", with_flag, "*", Some(0)),
        ("", &[], "", Some(2)),
        ("", &[], "other.example, .example", None),
        ("proxy = \"\"", &[], "", None),
        (&in_file, &["--proxy", "none"], "", None),
    ] {
        let folder = workspace(&format!("url = \"https://service.example\"\n{settings}"));
        let before = counts();
        for words in [&["plan", "--config", "rescreen.toml"][..], &["credits", "--config", "rescreen.toml"]] {
            let mut command = rescreen(folder.path(), &[words, flags].concat());
            Said::of(command.env("HTTPS_PROXY", &environment.url).env("NO_PROXY", exceptions));
        }
        let now = counts();
        let asked: Vec<usize> = (0..3).filter(|at| now[*at] > before[*at]).collect();
        assert_eq!(asked, Vec::from_iter(used), "{settings} {flags:?} {exceptions}");
    }
}

#[test]
fn an_unusable_proxy_of_the_environment_is_named_and_not_repeated() {
    let folder = workspace("url = \"https://service.example\"");
    for words in [
        &["run", "--config", "rescreen.toml", "--yes"][..],
        &["plan", "--config", "rescreen.toml"],
        &["doctor", "--config", "rescreen.toml"],
        &["credits", "--config", "rescreen.toml"],
    ] {
        for value in ["socks5://me:hunter2@127.0.0.1:1", "http://me:hunter2@ho st:1"] {
            let said = Said::of(rescreen(folder.path(), words).env("ALL_PROXY", value));
            let all = said.stderr + &said.stdout;
            assert!(all.contains("ALL_PROXY: expected a URL") && !all.contains("hunter2"), "{words:?}: {all}");
        }
    }
}

#[test]
fn a_proxy_of_the_campaign_file_is_used_with_its_password_and_sees_no_key() {
    let proxy = Wire::new(|_, _| Answer::Bytes(json("502 Bad Gateway", "")));
    for (auth, sent) in [("", None), ("proxy_auth = { env = \"PROXY_AUTH\" }", Some("Basic bWU6aHVudGVyMg=="))] {
        let folder = workspace(&format!("url = \"https://service.example\"\nproxy = \"{}\"\n{auth}", proxy.url));
        let mut command = rescreen(folder.path(), &["run", "--config", "rescreen.toml", "--yes", "--for", "6s"]);
        let said = Said::of(command.env("PROXY_AUTH", "me:hunter2"));
        let message = proxy.messages().pop().unwrap_or_else(|| panic!("nothing came: {}", said.stderr));
        assert!(message.head.starts_with("CONNECT service.example:443"), "{}", message.head);
        assert_eq!((message.header("x-api-key"), message.header("proxy-authorization")), (None, sent));
    }
}

#[test]
fn plain_http_through_a_proxy_and_a_password_in_a_proxy_are_refused() {
    let proxy = Wire::new(|_, _| Answer::Bytes(clear()));
    for (service, expected) in [
        (format!("url = \"http://127.0.0.1:9\"\nproxy = \"{}\"", proxy.url), "expected a service with an https URL"),
        (
            format!("url = \"https://127.0.0.1:9\"\nproxy = \"{}\"", proxy.url.replace("//", "//me:hunter2@")),
            "proxy_auth",
        ),
    ] {
        let folder = workspace(&service);
        for words in [&["run", "--config", "rescreen.toml", "--yes"][..], &["plan", "--config", "rescreen.toml"]] {
            let said = Said::of(&mut rescreen(folder.path(), words));
            let all = said.stderr + &said.stdout;
            assert!(all.contains(expected) && !all.contains("hunter2"), "{words:?}: {all}");
        }
        assert!(!folder.path().join("out").exists());
    }
    assert_eq!(proxy.messages().len(), 0);
}

#[test]
fn a_ca_file_without_a_certificate_is_a_usage_error_and_leaves_nothing_behind() {
    for content in
        [Some("not a certificate"), Some("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), None]
    {
        let folder = workspace("url = \"https://127.0.0.1:1\"\nca_file = \"ca.pem\"");
        if let Some(content) = content {
            fs::write(folder.path().join("ca.pem"), content).unwrap();
        }
        run(folder.path()).exits(2).says("ca.pem");
        assert!(!folder.path().join("out").exists(), "{content:?}");
    }
}

#[test]
fn a_url_that_would_show_the_key_to_the_network_is_refused_before_anything_is_created() {
    for url in ["http://api.example.com", "http://127.0.0.1.example.com", "http://10.0.0.1", "ftp://127.0.0.1"] {
        let folder = workspace(&format!("url = \"{url}\""));
        run(folder.path()).exits(2).says("https");
        assert!(!folder.path().join("out").exists(), "{url}");
    }
}

#[test]
fn a_password_in_a_url_is_refused_and_repeated_nowhere() {
    let words = ["run", "plan"];
    for url in ["https://me:hunter2@127.0.0.1:1", "https://me:hunter2@127.0.0.1 :1", "http://hunter2@127.0.0.1:1"] {
        for word in words {
            let folder = workspace(&format!("url = \"{url}\""));
            let said = Said::of(&mut rescreen(folder.path(), &[word, "--config", "rescreen.toml", "-vv"])).exits(2);
            assert!(!(said.stderr + &said.stdout).contains("hunter2"), "{word} {url}");
            assert!(!folder.path().join("out").exists(), "{word} {url}");
        }
        let said =
            Said::of(&mut rescreen(tempfile::tempdir().unwrap().path(), &["credits", "--service", url])).exits(2);
        assert!(!said.stderr.contains("hunter2"), "credits {url}");
    }
}

#[test]
fn a_password_in_a_proxy_is_not_repeated() {
    for proxy in ["http://me:hunter2@127.0.0.1:1", "http://me:hunter2@ho st:1", "nonsense://me:hunter2@h"] {
        let folder = workspace(&format!("url = \"https://127.0.0.1:1\"\nproxy = \"{proxy}\""));
        let mut command =
            rescreen(folder.path(), &["run", "--config", "rescreen.toml", "--yes", "-vv", "--for", "500ms"]);
        let said = Said::of(&mut command);
        assert!(!(said.stderr + &said.stdout).contains("hunter2"), "{proxy}");
    }
}
