//! Checks that are answered later: a request that the service accepts as a job is recorded with its job id, keeps its
//! hold and is not sent again; its result is read from the service later; a request that can be answered at once is a
//! result.

mod accepted;
mod at_once;
mod consent;
mod deliveries;
mod delivery_faults;
mod delivery_wire;

mod followed;
mod golden;
mod killed;
mod limits;
mod orders;
mod receivers;
mod redelivery;
mod service;
mod settings;
mod stated;
mod states;
mod status_route;
mod ten_thousand;

mod verdicts;

use crate::support::world::World;
use rescreen::{
    mapping::FieldSource,
    model::{Credits, ExitCode, state::State},
    pipeline::campaign::file::CheckTable,
};
use std::time::Duration;

const FOREIGN: &str = "foreign-bank-account";
const BUSINESS: &str = "business-bank-account";
const AFRICA: &str = "africa-verification";

/// A campaign whose jobs are all accepted, and done by the time that is returned.
async fn submitted(rows: usize) -> World {
    let minute = Duration::from_secs(60);
    let mut world = world(BUSINESS, rows, 7).under_paused_time().service(|settings| settings.job_time = Some(minute));
    world.run().await.exits(ExitCode::Jobs).in_state(State::Submitted, rows as u64);
    world.paused().at_hours_minutes(0, 10).await;
    world
}

/// A campaign with one check, at this price, on accounts that are all different.
fn world(check: &str, rows: usize, price: u64) -> World {
    let csv = match check {
        FOREIGN => foreigners(rows),
        BUSINESS => businesses(rows),
        _ => africans(rows),
    };
    World::new()
        .csv(&csv)
        .campaign(|file| {
            let mut table = CheckTable::of(check);
            if check == FOREIGN {
                table.fields.insert("consentConfirmed".to_owned(), FieldSource::from("consent"));
            }
            if check == AFRICA {
                // Optional fields are sent only if they are mapped.
                for name in ["first_name", "last_name"] {
                    table.fields.insert(name.to_owned(), FieldSource::from(name));
                }
            }
            file.checks = vec![table];
            file.budget.prices = [(check.to_owned(), Credits(price))].into();
        })
        .service(|settings| {
            settings.prices = [(check.to_owned(), price)].into();
            settings.fallback_of_hundred = 0;
        })
}

fn foreigners(rows: usize) -> String {
    let header =
        "no,first_name,surname,passport_no,passport_country,bank,account_no,branch_code,account_type,consent,purpose";
    let line =
        |n: usize| format!("{n},P{n:04},Vexford,ZX{n:05}A,ng,FNB,0620{n:05}0,051001,Savings,true,supplier payment\n");
    format!("{header}\n{}", (1..=rows).map(line).collect::<String>())
}

fn businesses(rows: usize) -> String {
    let header = "no,company_name,registration_number,bank,account_no,account_type";
    let line = |n: usize| format!("{n},Vexford {n} Pty,2019/{n:06}/07,Example Bank,0620{n:05}0,current\n");
    format!("{header}\n{}", (1..=rows).map(line).collect::<String>())
}

fn africans(rows: usize) -> String {
    let line = |n: usize| format!("{n},ng,NIN_V2,7010{n:05}7,P{n:04},Vexford\n");
    format!("no,country,id_type,id_number,first_name,last_name\n{}", (1..=rows).map(line).collect::<String>())
}
