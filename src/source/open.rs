//! Opens a source: turns a path or a stream into decompressed bytes in UTF-8. It decides which sources are accepted and
//! which are refused, before any row is read.
//!
//! ```text
//! file or stream ─decompress→ ─decode→ bytes in UTF-8 ─→ `ByteCursor`
//! spreadsheet ─the rows of one sheet as CSV→ ──────────→
//! Parquet, Arrow ─the rows as JSON Lines→ ─────────────→
//! ```
//! Offsets and digests refer to the bytes that it returns.

use super::{
    SourceError, arrow_stream,
    bytes::{
        Bytes,
        compression::Compression,
        cursor::{ByteCursor, ByteSource},
        encoding::{self, Encoding},
    },
    detect::{self, extension},
    options::{Origin, SourceOptions},
    parquet::table::{self, ColumnKinds},
    records::{content::Content, header::HeaderLine, shapes::HiddenRows},
    xlsx::workbook::{self, WantedSheet},
};
use std::{
    fs::File,
    io::{self, Cursor, Read, Seek},
    path::PathBuf,
    sync::{Arc, OnceLock},
};

/// Number of first bytes needed to identify a source.
const START_BYTES: usize = 8;
const CHUNK_BYTES: usize = 64 << 10;

const CONVERT: &str = "convert it to CSV or JSON Lines first";
const NAME_ROWS: &str = "name a file of rows, such as CSV, JSON Lines, .xlsx or .parquet";
const SAVE_AS: &str = "save it as .xlsx or as CSV";

/// What is refused by its file extension: the extension, what it is, and what to do.
const REFUSED_EXTENSIONS: [(&str, &str, &str); 10] = [
    ("zip", "a zip archive", CONVERT),
    ("tgz", "a tar archive", CONVERT),
    ("tar", "a tar archive", CONVERT),
    ("7z", "a 7z archive", CONVERT),
    ("bz2", "a bzip2 file", CONVERT),
    ("xz", "an xz file", CONVERT),
    ("xls", "a spreadsheet in the old format .xls", SAVE_AS),
    ("xlsb", "a spreadsheet in the format .xlsb", SAVE_AS),
    ("ods", "a spreadsheet in the format .ods", SAVE_AS),
    ("numbers", "a spreadsheet in the format .numbers", SAVE_AS),
];

/// What is refused by its first bytes.
const REFUSED_STARTS: [(&[u8], &str, &str); 12] = [
    (b"\x1f\x8b", "a gzip file inside another compressed file", CONVERT),
    (b"\x28\xb5\x2f\xfd", "a zstd file inside another compressed file", CONVERT),
    (
        ZIP,
        "a zip archive or a spreadsheet in a stream or inside a compressed file",
        "save it as a separate uncompressed file",
    ),
    (b"BZh", "a bzip2 file", CONVERT),
    (b"\xfd7zX", "an xz file", CONVERT),
    (
        OLD_SPREADSHEET,
        "a spreadsheet in the old format .xls, or one with a password",
        "save it as .xlsx or as CSV, without a password",
    ),
    (PARQUET, "a Parquet file in a stream or inside a compressed file", "save it as a separate uncompressed file"),
    (ENCRYPTED_PARQUET, "an encrypted Parquet file", "save a copy without encryption"),
    (b"\x89PNG", "an image", NAME_ROWS),
    (b"\xff\xd8\xff", "an image", NAME_ROWS),
    (b"GIF8", "an image", NAME_ROWS),
    (b"%PDF", "a PDF document", NAME_ROWS),
];

const ZIP: &[u8] = b"PK\x03\x04";
const PARQUET: &[u8] = b"PAR1";
const ENCRYPTED_PARQUET: &[u8] = b"PARE";
/// The container format of .xls files, and of .xlsx files with a password.
const OLD_SPREADSHEET: &[u8] = b"\xd0\xcf\x11\xe0";

/// An opened source.
pub(super) struct Opened {
    pub input: ByteCursor,
    /// The path whose extension indicates format and delimiter, without the extension of a compression.
    pub path: Option<PathBuf>,
    pub content: Content,
    /// The source may stall, and cannot be read twice.
    pub is_stream: bool,
    /// The types of its columns, if the file states them.
    pub kinds: ColumnKinds,
    pub hidden: HiddenCount,
}

/// The hidden rows of a sheet, once it was read to its end.
pub(super) type HiddenCount = Arc<OnceLock<HiddenRows>>;

/// Opens a source, or refuses it.
pub(super) fn open(source_name: &Arc<str>, origin: Origin, options: &SourceOptions) -> Result<Opened, SourceError> {
    let failed = |fault| SourceError::Open { source_name: source_name.clone(), fault };
    let (path, file, bytes): (_, _, Bytes) = match origin {
        Origin::Stdin => (None, None, Box::new(io::stdin())),
        Origin::Reader(reader) => (None, None, reader),
        Origin::File(path) => {
            refuse_extension(source_name, &extension(&path))?;
            let file = File::open(&path).map_err(failed)?;
            let file_type = file.metadata().map_err(failed)?.file_type();
            if file_type.is_dir() {
                return Err(SourceError::Folder { source_name: source_name.clone() });
            }
            let again = file_type.is_file().then(|| file.try_clone()).transpose().map_err(failed)?;
            (Some(path), again, Box::new(file))
        }
    };
    let is_stream = file.is_none();
    let extension = path.as_deref().map(extension).unwrap_or_default();
    let (start, bytes) = read_start(bytes).map_err(|fault| unread(source_name, fault))?;
    let is_sheet = matches!(extension.as_str(), "xlsx" | "xlsm") || start.starts_with(ZIP);
    let is_parquet = matches!(extension.as_str(), "parquet" | "pq") || start.starts_with(PARQUET);
    let file = match file {
        Some(file) if is_sheet => {
            drop(bytes);
            if start.starts_with(OLD_SPREADSHEET) {
                refuse_start(source_name, &start)?;
            }
            return sheet(source_name, file, path, options);
        }
        file => file.filter(|_| is_parquet),
    };
    if let Some(wanted) = &options.sheet {
        return Err(SourceError::NoSheets { source_name: source_name.clone(), wanted: wanted.clone() });
    }
    if let Some(file) = file {
        drop(bytes);
        if start.starts_with(ENCRYPTED_PARQUET) {
            refuse_start(source_name, &start)?;
        }
        let text = table::open(file);
        let (text, kinds) = text.map_err(|fault| SourceError::Parquet { source_name: source_name.clone(), fault })?;
        let input = ByteCursor::new(source_name.clone(), ByteSource::Here(text));
        return Ok(Opened {
            input,
            path,
            content: Content::Table,
            is_stream: false,
            kinds,
            hidden: HiddenCount::default(),
        });
    }
    let path = path.map(|path| Compression::inner_path(&path, &extension));
    if let Some(path) = &path {
        refuse_extension(source_name, &detect::extension(path))?;
    }
    let (start, bytes) = match Compression::of(&extension, &start) {
        Some(compression) => {
            compression.decompress(bytes).and_then(read_start).map_err(|fault| unread(source_name, fault))?
        }
        None => (start, bytes),
    };
    let is_arrow_file = start.starts_with(arrow_stream::FILE_START);
    if is_arrow_file || start.starts_with(arrow_stream::STREAM_START) {
        let text = arrow_stream::open(bytes, is_arrow_file);
        let (text, kinds) = text.map_err(|fault| SourceError::Arrow { source_name: source_name.clone(), fault })?;
        let feed = if is_stream { ByteSource::stream(text).map_err(failed)? } else { ByteSource::Here(text) };
        let input = ByteCursor::new(source_name.clone(), feed);
        return Ok(Opened { input, path, content: Content::Table, is_stream, kinds, hidden: HiddenCount::default() });
    }
    refuse_start(source_name, &start)?;
    let (encoding, bytes) = encoding::decode(bytes, &start, options.encoding).map_err(|found| {
        let expected = options.encoding.unwrap_or(Encoding::Utf8);
        SourceError::OtherEncoding { source_name: source_name.clone(), expected, found }
    })?;
    let feed = if is_stream { ByteSource::stream(bytes).map_err(failed)? } else { ByteSource::Here(bytes) };
    let input = ByteCursor::new(source_name.clone(), feed);
    Ok(Opened {
        input,
        path,
        content: Content::Written(encoding),
        is_stream,
        kinds: ColumnKinds::new(),
        hidden: HiddenCount::default(),
    })
}

fn sheet(
    source_name: &Arc<str>,
    mut file: File,
    path: Option<PathBuf>,
    options: &SourceOptions,
) -> Result<Opened, SourceError> {
    file.rewind().map_err(|fault| SourceError::Open { source_name: source_name.clone(), fault })?;
    let columns = options.header.columns().map(<[String]>::len);
    let hidden = HiddenCount::default();
    let wanted = WantedSheet {
        name: options.sheet.clone(),
        columns,
        skip: options.skip_lines,
        visible_only: options.visible_only,
        has_header: options.header == HeaderLine::First,
    };
    let text = workbook::open(file, wanted, Arc::clone(&hidden))
        .map_err(|fault| SourceError::Sheet { source_name: source_name.clone(), fault })?;
    let input = ByteCursor::new(source_name.clone(), ByteSource::Here(text));
    Ok(Opened { input, path, content: Content::Cells, is_stream: false, kinds: ColumnKinds::new(), hidden })
}

fn refuse_extension(source_name: &Arc<str>, extension: &str) -> Result<(), SourceError> {
    match REFUSED_EXTENSIONS.iter().find(|(known, ..)| *known == extension) {
        Some((_, what, advice)) => Err(SourceError::Refused { source_name: source_name.clone(), what, advice }),
        None => Ok(()),
    }
}

fn refuse_start(source_name: &Arc<str>, start: &[u8]) -> Result<(), SourceError> {
    match REFUSED_STARTS.iter().find(|(magic, ..)| start.starts_with(magic)) {
        Some((_, what, advice)) => Err(SourceError::Refused { source_name: source_name.clone(), what, advice }),
        None => Ok(()),
    }
}

fn unread(source_name: &Arc<str>, fault: io::Error) -> SourceError {
    SourceError::Read { source_name: source_name.clone(), offset: 0, fault }
}

/// The first bytes, enough to identify the source, and all of its bytes including them.
fn read_start(mut bytes: Bytes) -> io::Result<(Vec<u8>, Bytes)> {
    let mut start = Vec::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    while start.len() < START_BYTES {
        match bytes.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => start.extend_from_slice(&chunk[..count]),
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
            Err(fault) => return Err(fault),
        }
    }
    let all = Cursor::new(start.clone()).chain(bytes);
    Ok((start, Box::new(all)))
}
