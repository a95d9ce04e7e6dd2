//! `-v` tells pauses, retries and publications in words; `-vv` also every attempt; the HTTP library is silent until
//! `-vvv`.

use crate::{cli::Workspace, support::service::lifted};
use rescreen::simulator::Settings;

fn refused_at_times() -> Workspace {
    Workspace::with(8, Settings { faults: "rate429@4:1,error502@6".parse().unwrap(), ..lifted() })
}

#[test]
fn one_v_tells_pauses_and_retries() {
    let said = refused_at_times().run(&["-v", "--in-flight", "1"]).exits(0);
    let said = said.says("INFO waiting 1 s: rate limit, HTTP 429").says(" of aml-screening is sent again in ");
    assert!(said.stderr.contains(" s: HTTP 502"), "{}", said.stderr);
    assert!(!said.stderr.contains("DEBUG"), "{}", said.stderr);
}

#[test]
fn two_v_tell_attempts_and_nothing_of_the_http_library() {
    let said = refused_at_times().run(&["-vv", "--in-flight", "1"]).exits(0).says("DEBUG attempt");
    for line in said.stderr.lines().filter(|line| line.contains("DEBUG")) {
        assert!(line.contains("attempt") || line.contains("job"), "{line}");
    }
    assert!(!said.stderr.contains("pooling idle connection"), "{}", said.stderr);
}

#[test]
fn three_v_tell_what_the_http_library_does() {
    refused_at_times().run(&["-vvv", "--in-flight", "1"]).exits(0).says("pooling idle connection");
}

#[test]
fn without_v_only_warnings_are_logged() {
    let said = refused_at_times().run(&["--in-flight", "1"]).exits(0);
    assert!(!said.stderr.contains("INFO") && !said.stderr.contains("DEBUG"), "{}", said.stderr);
}
