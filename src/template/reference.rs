//! What a template can use: every filter, method and function, with the number of its arguments, one line and one
//! example. The checks of a template, `rescreen help templates` and `docs/templates.md` are made from these tables, and
//! a test evaluates every example.

/// A filter, a method or a function.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// The name as it is written.
    pub name: &'static str,
    /// The fewest and the most arguments in its brackets; 9999 stands for any number.
    pub arguments: (usize, usize),
    /// What it gives.
    pub about: &'static str,
    /// A template over the sample row.
    pub example: &'static str,
    /// The text that the example gives.
    pub result: &'static str,
}

/// A task, and the template that does it.
#[derive(Debug, Clone, Copy)]
pub struct Recipe {
    /// The task.
    pub task: &'static str,
    /// A template over the sample row.
    pub template: &'static str,
    /// The text that the template gives.
    pub result: &'static str,
}

macro_rules! entries {
    ($($name:literal $least:literal $most:literal: $about:literal, $example:literal => $result:literal;)*) => {
        &[$(Entry { name: $name, arguments: ($least, $most), about: $about, example: $example, result: $result }),*]
    };
}

macro_rules! recipes {
    ($($task:literal, $template:literal => $result:literal;)*) => {
        &[$(Recipe { task: $task, template: $template, result: $result }),*]
    };
}

/// The columns of the sample row, as JSON. The table `branch` has the entry `Ndola` = `zm`.
pub const SAMPLE_ROW: &str = r#"{
  "name": "  Thandi van der Merwe ",
  "Full name": "Merwe, Thandi",
  "code": "ab-12",
  "amount": "1250",
  "born": "31/12/1980",
  "country": "South Africa",
  "branch": "Ndola",
  "tags": ["b", "a", "b"],
  "empty": null,
  "people": [{"name": "Anele", "role": "director"},
             {"name": "Ravi", "role": "clerk"}]
}"#;

/// Frequent tasks.
pub const RECIPES: &[Recipe] = recipes! {
    "a column with a space in its name", r#"{{ row["Full name"] }}"# => "Merwe, Thandi";
    "two columns", "{{ code }} {{ branch }}" => "ab-12 Ndola";
    "the part after a comma", r#"{{ row["Full name"].split(", ")[-1] }}"# => "Thandi";
    "the first characters", "{{ code[:2] }}" => "ab";
    "a value in nested JSON", "{{ people[0].name }}" => "Anele";
    "a list as text", "{{ tags | join(', ') }}" => "b, a, b";
    "one member of each object in a list", "{{ people | map(attribute='name') | join(', ') }}" => "Anele, Ravi";
    "another value if one is missing", "{{ empty | default('none given') }}" => "none given";
    "the first column that has a value", "{{ empty or code }}" => "ab-12";
    "a choice", "{{ 0 if country == 'South Africa' else 1 }}" => "0";
    "a date in another format", "{{ born | date('%d/%m/%Y') }}" => "1980-12-31";
    "the code of a country", "{{ country | country }}" => "za";
    "a value from a table in [tables]", "{{ branch | table('branch') }}" => "zm";
};

/// The filters: `value | name(arguments)`.
pub const FILTERS: &[Entry] = entries! {
    "abs" 0 0: "the number without its sign", "{{ -5 | abs }}" => "5";
    "capitalize" 0 0: "first letter in upper case, the others in lower case", "{{ code | capitalize }}" => "Ab-12";
    "count" 0 0: "the same as length", "{{ tags | count }}" => "3";
    "country" 0 0: "two-letter code of an English name or ISO code", "{{ country | country }}" => "za";
    "d" 1 2: "the same as default", "{{ empty | d('none given') }}" => "none given";
    "date" 1 1: "a date of the given format, as YYYY-MM-DD", "{{ born | date('%d/%m/%Y') }}" => "1980-12-31";
    "default" 1 2: "another value if this one is missing", "{{ empty | default('-') }}" => "-";
    "digits" 0 0: "only the digits 0 to 9", "{{ code | digits }}" => "12";
    "first" 0 0: "the first item or character", "{{ tags | first }}" => "b";
    "float" 0 0: "the text as a decimal number", "{{ amount | float }}" => "1250.0";
    "format" 0 9999: "values in a printf pattern", "{{ '%05d' | format(amount | int) }}" => "01250";
    "int" 0 0: "the text as a whole number", "{{ (amount | int) + 1 }}" => "1251";
    "join" 0 1: "the items of a list as one text", "{{ tags | join('/') }}" => "b/a/b";
    "last" 0 0: "the last item or character", "{{ name | trim | split(' ') | last }}" => "Merwe";
    "length" 0 0: "the number of items or characters", "{{ code | length }}" => "5";
    "lines" 0 0: "the lines of a text, as a list", "{{ code | lines | length }}" => "1";
    "list" 0 0: "the characters of a text, as a list", "{{ code | list | join('.') }}" => "a.b.-.1.2";
    "lower" 0 0: "lower case", "{{ country | lower }}" => "south africa";
    "map" 1 9999: "a filter or a member of each item", "{{ people | map(attribute='name') | join }}" => "AneleRavi";
    "reject" 0 9999: "the items that fail a test", "{{ tags | reject('eq', 'b') | join }}" => "a";
    "rejectattr" 1 9999: "the objects whose member fails a test",
        "{{ people | rejectattr('role', 'eq', 'clerk') | length }}" => "1";
    "replace" 2 2: "one text in place of another", "{{ code | replace('-', '') }}" => "ab12";
    "reverse" 0 0: "the text backwards", "{{ code | reverse }}" => "21-ba";
    "round" 0 1: "the number with this many decimals", "{{ 2.567 | round(1) }}" => "2.6";
    "select" 0 9999: "the items that pass a test", "{{ tags | select('eq', 'b') | join }}" => "bb";
    "selectattr" 1 9999: "the objects whose member passes a test",
        "{{ (people | selectattr('role', 'eq', 'clerk') | first).name }}" => "Ravi";
    "split" 0 1: "the parts between a separator, as a list", "{{ code | split('-') | first }}" => "ab";
    "string" 0 0: "a number as text", "{{ amount | string }}" => "1250";
    "table" 1 1: "the entry of a table in [tables]", "{{ branch | table('branch') }}" => "zm";
    "title" 0 0: "first letter of each word in upper case", "{{ country | lower | title }}" => "South Africa";
    "trim" 0 0: "without spaces at both ends", "{{ name | trim }}" => "Thandi van der Merwe";
    "unique" 0 2: "each item of a list once", "{{ tags | unique | join }}" => "ba";
    "upper" 0 0: "upper case", "{{ code | upper }}" => "AB-12";
};

/// The methods of a text, as in Python: `value.name(arguments)`.
pub const TEXT_METHODS: &[Entry] = entries! {
    "capitalize" 0 0: "first letter in upper case, the others in lower case", "{{ code.capitalize() }}" => "Ab-12";
    "count" 1 1: "how often a text is in it", "{{ country.count('a') }}" => "1";
    "endswith" 1 1: "whether it ends with a text, or one of a list", "{{ code.endswith('12') }}" => "true";
    "find" 1 1: "the place of a text in it, from 0; -1 if it is not there", "{{ code.find('-') }}" => "2";
    "isalnum" 0 0: "whether it has only letters and digits", "{{ code.isalnum() }}" => "false";
    "isalpha" 0 0: "whether it has only letters", "{{ branch.isalpha() }}" => "true";
    "isdigit" 0 0: "whether it has only the digits 0 to 9", "{{ amount.isdigit() }}" => "true";
    "islower" 0 0: "whether its letters are in lower case", "{{ code.islower() }}" => "true";
    "isspace" 0 0: "whether it has only spaces", "{{ ' '.isspace() }}" => "true";
    "isupper" 0 0: "whether its letters are in upper case", "{{ code.isupper() }}" => "false";
    "join" 1 1: "the items of a list, with this text between them", "{{ '/'.join(tags) }}" => "b/a/b";
    "lower" 0 0: "lower case", "{{ country.lower() }}" => "south africa";
    "lstrip" 0 1: "without spaces, or these characters, at its start", "{{ '0042'.lstrip('0') }}" => "42";
    "removeprefix" 1 1: "without this text at its start", "{{ code.removeprefix('ab-') }}" => "12";
    "removesuffix" 1 1: "without this text at its end", "{{ code.removesuffix('-12') }}" => "ab";
    "replace" 2 3: "one text in place of another, at most N times", "{{ code.replace('-', '') }}" => "ab12";
    "rfind" 1 1: "the last place of a text in it; -1 if it is not there", "{{ country.rfind('a') }}" => "11";
    "rsplit" 0 2: "as split; at most N times, from the end", "{{ name.rsplit(' ', 1)[1] }}" => "Merwe";
    "rstrip" 0 1: "without spaces, or these characters, at its end", "{{ code.rstrip('12') }}" => "ab-";
    "split" 0 2: "the parts between a separator, at most N times", "{{ code.split('-')[0] }}" => "ab";
    "splitlines" 0 0: "its lines, as a list", "{{ code.splitlines() | length }}" => "1";
    "startswith" 1 1: "whether it starts with a text, or one of a list", "{{ code.startswith('ab') }}" => "true";
    "strip" 0 1: "without spaces, or these characters, at both ends", "{{ code.strip('a2') }}" => "b-1";
    "title" 0 0: "first letter of each word in upper case", "{{ country.lower().title() }}" => "South Africa";
    "upper" 0 0: "upper case", "{{ code.upper() }}" => "AB-12";
    "zfill" 1 1: "with zeros before it, up to this length", "{{ amount.zfill(6) }}" => "001250";
};

/// The methods of an object, as in Python.
pub const OBJECT_METHODS: &[Entry] = entries! {
    "get" 1 2: "a member, or another value if it is missing", "{{ people[0].get('age', '-') }}" => "-";
    "items" 0 0: "its names and values, as a list of pairs", "{{ people[1].items()[0][1] }}" => "Ravi";
    "keys" 0 0: "its names, as a list", "{{ people[0].keys() | join(' ') }}" => "name role";
    "values" 0 0: "its values, as a list", "{{ people[0].values() | join(' ') }}" => "Anele director";
};

/// The functions, and the methods of `loop`.
pub const FUNCTIONS: &[Entry] = entries! {
    "namespace" 0 9999: "an object that a loop can change",
        "{% set n = namespace(x=1) %}{% set n.x = 2 %}{{ n.x }}" => "2";
    "loop.cycle" 1 9999: "in a loop, these values in turn",
        "{% for t in tags %}{{ loop.cycle('x', 'y') }}{% endfor %}" => "xyx";
    "loop.changed" 1 9999: "in a loop, whether a value differs from the last",
        "{% for t in 'aab' if 1 %}{{ loop.changed(t) ~ ' ' }}{% endfor %}" => "true false true ";
};

/// Where all of them are listed.
pub(super) const LISTED: &str = "`rescreen help templates` lists them";

/// The names of the filters.
pub(super) fn filters() -> impl Iterator<Item = &'static str> + Clone {
    FILTERS.iter().map(|entry| entry.name)
}

/// The names of the methods, without those of `loop`.
pub(super) fn methods() -> impl Iterator<Item = &'static str> + Clone {
    TEXT_METHODS.iter().chain(OBJECT_METHODS).map(|entry| entry.name)
}

/// The filter of this name.
pub(super) fn filter(name: &str) -> Option<&'static Entry> {
    FILTERS.iter().find(|entry| entry.name == name)
}

/// The method of this name.
pub(super) fn method(name: &str) -> Option<&'static Entry> {
    let of_loop = |entry: &&Entry| entry.name.strip_prefix("loop.") == Some(name);
    let named = |entry: &&Entry| entry.name == name;
    TEXT_METHODS.iter().chain(OBJECT_METHODS).find(named).or_else(|| FUNCTIONS.iter().find(of_loop))
}
