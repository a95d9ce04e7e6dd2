//! What a production campaign needs besides what every campaign needs: a name, an identifier of its rows, the price of
//! each check and a limit.

use super::file::{CampaignFile, CheckTable};
use crate::{
    catalogue::Catalogue,
    error::Error,
    model::{Credits, Mode},
};
use std::collections::BTreeMap;

/// The prices that are known, by check: those of the catalogue, and those of the file in their place.
///
/// # Errors
/// The file has a price for a check that does not exist.
pub fn prices(file: &CampaignFile, catalogue: &Catalogue) -> Result<BTreeMap<String, Credits>, Error> {
    let documented = catalogue.iter().filter_map(|one| Some((one.name.clone(), one.price?)));
    let mut prices: BTreeMap<String, Credits> = documented.collect();
    for (name, price) in &file.budget.prices {
        prices.insert(catalogue.get(name)?.name.clone(), *price);
    }
    Ok(prices)
}

/// Refuses a production campaign that lacks a required setting. The error names all that are missing, with their flags.
///
/// # Errors
/// A setting is missing.
pub fn refuse_incomplete(
    file: &CampaignFile,
    catalogue: &Catalogue,
    prices: &BTreeMap<String, Credits>,
) -> Result<(), Error> {
    if file.mode() == Mode::Sandbox {
        return Ok(());
    }
    let mut missing = Vec::new();
    let mut needs = |is_there: bool, what: String| missing.extend((!is_there).then_some(what));
    needs(
        file.campaign.is_some(),
        "a campaign name such as 2026-11: --campaign NAME (or campaign = \"…\"); requests with the same campaign name \
         are paid for once"
            .to_owned(),
    );
    needs(file.input.id.is_some(), "the column that identifies a row: --id COLUMN (or [input] id)".to_owned());
    let mut named: Vec<&str> = Vec::new();
    for CheckTable { check, .. } in &file.checks {
        if !named.contains(&check.as_str()) && catalogue.get(check).is_ok() {
            named.push(check);
            needs(
                prices.contains_key(check),
                format!(
                    "a price for `{check}`: --price {check}=N (or [budget] prices); the service does not document its \
                     price"
                ),
            );
        }
    }
    needs(file.budget.max_credits.is_some(), "a credit limit: --max-credits N (or [budget] max_credits)".to_owned());
    match missing.as_slice() {
        [] => Ok(()),
        [one] => Err(Error::Config(format!("production needs {one}"))),
        all => Err(Error::Config(format!("production needs {} more settings:\n  {}", all.len(), all.join("\n  ")))),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::parse, *};

    fn refused(text: &str) -> String {
        let (file, catalogue) = (parse(text).unwrap(), Catalogue::built_in());
        let prices = prices(&file, &catalogue).unwrap();
        refuse_incomplete(&file, &catalogue, &prices).map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn all_missing_settings_of_a_production_campaign_are_named_at_once() {
        let all =
            refused("mode = 'production'\n[[check]]\nuse = 'vin-decode'\n[[check]]\nuse = 'vin-decode'\nname = 'two'");
        assert_eq!(all.lines().next(), Some("production needs 4 more settings:"), "{all}");
        for (at, named) in
            ["--campaign NAME", "--id COLUMN", "--price vin-decode=N", "--max-credits N"].iter().enumerate()
        {
            assert!(all.lines().nth(at + 1).unwrap().contains(named), "{all}");
        }
    }

    #[test]
    fn a_single_missing_setting_is_one_sentence() {
        let others = "mode = 'production'\ncampaign = 'a'\n[input]\nid = 'no'\n";
        assert_eq!(refused(others), "production needs a credit limit: --max-credits N (or [budget] max_credits)");
        assert_eq!(refused(&format!("{others}[budget]\nmax_credits = 1")), "");
        assert_eq!(refused("mode = 'sandbox'"), "");
    }
}
