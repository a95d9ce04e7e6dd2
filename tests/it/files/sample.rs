//! Invented files of every kind and of any length, and campaigns that send them.

use crate::support::world::World;
use rescreen::{
    mapping::FieldSource,
    model::{Credits, field::sa_id::compose},
    pipeline::campaign::file::CheckTable,
};
use std::fs;

/// A whole JPEG of this length, different for each number.
pub fn jpeg(number: u64, bytes: usize) -> Vec<u8> {
    let mut file = b"\xff\xd8\xff\xfe\0\x0a".to_vec();
    file.extend_from_slice(&number.to_be_bytes());
    file.extend_from_slice(b"\xff\xda\0\x02");
    file.resize(bytes - 2, b'x');
    file.extend_from_slice(b"\xff\xd9");
    file
}

pub fn png(bytes: usize) -> Vec<u8> {
    let data = bytes - 8 - 12 - 12;
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    file.extend_from_slice(&u32::try_from(data).unwrap().to_be_bytes());
    file.extend_from_slice(b"IDAT");
    file.resize(file.len() + data + 4, b'x');
    file.extend_from_slice(b"\0\0\0\0IENDxxxx");
    file
}

pub fn webp(bytes: usize) -> Vec<u8> {
    let mut file = b"RIFF".to_vec();
    file.extend_from_slice(&u32::try_from(bytes - 8).unwrap().to_le_bytes());
    file.extend_from_slice(b"WEBP");
    file.resize(bytes, b'x');
    file
}

pub fn tiff(bytes: usize) -> Vec<u8> {
    let mut file = b"II\x2a\0\x08\0\0\0\0\0\0\0\0\0".to_vec();
    file.resize(bytes, b'x');
    file
}

/// A whole PDF of this length, different for each number.
pub fn pdf(number: u64, bytes: usize) -> Vec<u8> {
    let mut file = format!("%PDF-1.4\n% {number:020}\n").into_bytes();
    file.resize(bytes - 6, b' ');
    file.extend_from_slice(b"%%EOF\n");
    file
}

/// A valid ID number that does not end in a reserved number.
pub fn id_number(number: u32) -> String {
    (0..)
        .map(|more| compose(800_101, number * 7 + more, 0))
        .find(|id| !id.ends_with("90") && !id.ends_with("91"))
        .unwrap()
}

/// A world whose check reads these columns, with an empty folder for its files.
pub fn world(check: &str, fields: &[(&str, &str)]) -> World {
    let fields = fields.iter().map(|(field, column)| ((*field).to_owned(), FieldSource::from(*column))).collect();
    let table = CheckTable { fields, ..CheckTable::of(check) };
    let check = check.to_owned();
    let world = World::new().campaign(|file| {
        file.checks = vec![table];
        file.input.files_root = Some("files".into());
        file.budget.prices.insert(check.clone(), Credits(3));
    });
    fs::create_dir(world.path("files")).unwrap();
    world.service(|settings| settings.prices = [(check, 3)].into())
}

/// A world that matches these selfies with ID numbers, one for each row.
pub fn faces(selfies: &[&[u8]]) -> World {
    let world = world("facematch", &[("id_number", "id_number"), ("selfie_image_base64", "selfie")]);
    let mut book = "no,id_number,selfie\n".to_owned();
    for (at, selfie) in selfies.iter().enumerate() {
        put(&world, &format!("s{at}.jpg"), selfie);
        book += &format!("{},{},s{at}.jpg\n", at + 1, id_number(at as u32 + 1));
    }
    world.csv(&book)
}

/// A world that checks these documents as proofs of address, one for each row.
pub fn addresses(documents: &[&[u8]]) -> World {
    let world = world("proof-of-address", &[("document", "file")]);
    let mut book = "no,file\n".to_owned();
    for (at, document) in documents.iter().enumerate() {
        put(&world, &format!("d{at}.pdf"), document);
        book += &format!("{},d{at}.pdf\n", at + 1);
    }
    world.csv(&book)
}

pub fn put(world: &World, name: &str, content: &[u8]) {
    fs::write(world.path("files").join(name), content).unwrap();
}
