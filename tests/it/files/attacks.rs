//! Paths in an input that others wrote: nothing outside the files root is read, and nothing blocks.

use super::sample::{jpeg, put, world};
use crate::support::{ran::results, tables::text};
use rescreen::model::ExitCode;
use std::{fs, os::unix::fs::symlink, process::Command};

#[tokio::test]
async fn no_path_leads_out_of_the_files_root() {
    let world = world("facematch-standard", &[("selfie_image_base64", "a"), ("reference_image_base64", "b")]);
    let at = |name: &str| world.path("files").join(name);
    fs::write(world.path("secret.jpg"), jpeg(1, 100)).unwrap();
    put(&world, "good.jpg", &jpeg(2, 100));
    fs::create_dir(at("folder")).unwrap();
    symlink(world.path("secret.jpg"), at("link.jpg")).unwrap();
    symlink("good.jpg", at("inner-link.jpg")).unwrap();
    symlink(world.path(""), at("up")).unwrap();
    assert!(Command::new("mkfifo").arg(at("pipe.jpg")).status().unwrap().success());
    let absolute = world.path("secret.jpg").display().to_string();
    let paths = [
        "../secret.jpg",
        "folder/../../secret.jpg",
        "./../secret.jpg",
        absolute.as_str(),
        "link.jpg",
        "inner-link.jpg",
        "up/secret.jpg",
        "pipe.jpg",
        "/dev/zero",
        "/proc/self/environ",
        "folder",
        "folder/",
        ".",
        "missing.jpg",
        "good.jpg/more",
        "file:///etc/passwd",
        "C:\\secret.jpg",
    ];
    let book = paths.iter().fold("a,b,no\n".to_owned(), |book, path| book + &format!("good.jpg,{path},1\n"));
    let mut world = world.csv(&(book + "good.jpg,./folder/../good.jpg,1\ngood.jpg,good.jpg,1\n")).campaign(|file| {
        file.guards.max_errors = Some("100%".parse().unwrap());
    });
    let ran = world.run().await.exits(ExitCode::Failures).charged(3).counts(results(1).failures(paths.len() + 1));
    for line in ran.failures() {
        let message = text(line, "message");
        assert_eq!(text(line, "code"), "unreadable_file", "{message}");
        assert!(message.starts_with("field `reference_image_base64` (column `b`): expected the path"), "{message}");
        assert!(!message.contains("secret") && !message.contains(".jpg"), "{message}");
    }
}

#[test]
fn neither_the_log_nor_the_terminal_shows_a_path() {
    let world = super::sample::faces(&[&jpeg(1, 100), b"GIF89a"]);
    let names = ["thandi-8001015009087.jpg", "sipho-9111060123086.jpg", "gone-nkosi.jpg"];
    put(&world, names[0], &jpeg(3, 100));
    put(&world, names[1], b"GIF89a");
    let ids = [1, 2, 3].map(super::sample::id_number);
    let rows: Vec<String> = (0..3).map(|at| format!("{at},{},{}", ids[at], names[at])).collect();
    world.write("book.csv", &format!("no,id_number,selfie\n{}\n", rows.join("\n")));
    let arguments = [
        "run",
        "book.csv",
        "--simulate",
        "--check",
        "facematch",
        "--files-root",
        "files",
        "--per-minute",
        "6000",
        "-vvv",
        "--out",
        "out",
        "--max-errors",
        "100%",
    ];
    for command in ["plan", "run"] {
        let mut words = arguments.to_vec();
        words[0] = command;
        words.retain(|word| command == "run" || !["-vvv"].contains(word));
        let said = crate::support::program::Said::of(&mut crate::support::program::rescreen(&world.path(""), &words));
        assert!([0, 2, 3].contains(&said.code), "{}", said.stderr);
        for name in names {
            let name = name.split('.').next().unwrap();
            assert!(!said.stderr.contains(name) && !said.stdout.contains(name), "{command}: {}", said.stderr);
        }
    }
}
