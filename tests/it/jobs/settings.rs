//! `[service.checks.NAME]`: header form and route spelling of a single check.

use crate::support::world::{AML, World};
use rescreen::{
    catalogue::Spelling,
    client::Auth,
    model::{ExitCode, Stop},
    pipeline::campaign::{check_settings::CheckSettings, parse},
    simulator::AuthAccepted,
};

fn with(world: World, check: &str, settings: CheckSettings) -> World {
    world.campaign(|file| {
        file.service.checks.insert(check.to_owned(), settings);
    })
}

#[tokio::test]
async fn one_check_can_use_the_other_spelling_of_its_route() {
    let alternate = CheckSettings { routes: Some(Spelling::Alternate), ..CheckSettings::default() };
    let ran = with(World::new().rows(2), AML, alternate).run().await.exits(ExitCode::Complete).charged(2);
    assert_eq!(ran.stats.by_route.get("POST /aml-pep"), Some(&2));
}

#[tokio::test]
async fn one_check_can_use_the_other_header_and_the_balance_keeps_its_own() {
    let bearer = CheckSettings { auth: Some(Auth::Bearer), ..CheckSettings::default() };
    let mut world = with(World::new().rows(2), AML, bearer);
    world.run().await.exits(ExitCode::Complete).charged(2);
    // A service that takes only x-api-key refuses the check and accepts the balance.
    let world = World::new().rows(2).service(|settings| settings.auth = AuthAccepted::XApiKey);
    let ran = with(world, AML, bearer).run().await.exits(ExitCode::Refused);
    let ran = ran.stops_with(|stop| matches!(stop, Stop::CheckRefused { check, status: 401 } if check == AML));
    let lines = ran.report().lines().join("\n");
    assert!(lines.contains("[service.checks.aml-screening] auth"), "{lines}");
    assert_eq!(ran.stats.charges, 0);
}

#[tokio::test]
async fn a_wrong_header_for_everything_names_the_setting() {
    let ran = World::new().rows(2).service(|settings| settings.auth = AuthAccepted::Bearer).run().await;
    let ran = ran.exits(ExitCode::Refused);
    let lines = ran.report().lines().join("\n");
    assert!(lines.contains("[service] auth = \"bearer\" (or \"x-api-key\")"), "{lines}");
}

#[tokio::test]
async fn a_missing_route_names_the_setting_of_its_check() {
    let world = World::new().rows(1).declares(|declaration| declaration.routes.guide = "/aml-nowhere".to_owned());
    let mut world = world.may_lose_checks("the simulator does not count requests to an unknown route");
    let ran = world.run().await.exits(ExitCode::Service);
    let lines = ran.report().lines().join("\n");
    assert!(lines.contains("[service.checks.aml-screening] routes"), "{lines}");
}

#[tokio::test]
async fn an_unknown_check_or_key_is_an_error_with_the_nearest_name() {
    let ran = with(World::new().rows(1), "aml-screning", CheckSettings::default()).run().await.exits(ExitCode::Usage);
    assert!(ran.error().contains("did you mean `aml-screening`?"), "{}", ran.error());
    let message = parse("[service.checks.aml-screening]\nrotes = \"guide\"\n").unwrap_err();
    assert!(message.contains("line 2") && message.contains("did you mean `routes`?"), "{message}");
    let one_route = CheckSettings { routes: Some(Spelling::Alternate), ..CheckSettings::default() };
    let ran = with(World::new().rows(1), "property-search", one_route).run().await.exits(ExitCode::Usage);
    assert!(ran.error().contains("only one route"), "{}", ran.error());
}
