//! The pages of a column, read and decompressed within limits: the pages that are open at one time have a maximum size in
//! all columns together, and so do the values that lists may have in one batch.

use super::{
    compression::decompress,
    fault::ParquetFault,
    page_header::{PageHeader, PageKind},
    thrift::Undecodable,
};
use bytes::Bytes;
use flate2::Crc;
use parquet::{
    arrow::arrow_reader::RowGroups,
    basic::Compression,
    column::page::{Page, PageIterator, PageMetadata, PageReader},
    errors::{ParquetError, Result},
    file::metadata::{ParquetMetaData, RowGroupMetaData},
};
use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// Maximum bytes of the open pages of all columns: of each column its dictionary and one page of data.
const OPEN_BYTES_MAX: u64 = 256 << 20;
/// Maximum values of columns with lists in the pages that one batch needs.
const LISTED_VALUES_MAX: u64 = 8 << 20;
/// Maximum bytes of a page header: it may contain the smallest and the largest value.
const HEADER_BYTES_MAX: u64 = 16 << 20;
/// Bytes that are read first for a page header.
const HEADER_BYTES: u64 = 4 << 10;

const DAMAGED: ParquetFault = ParquetFault::Damaged { what: "page" };

/// What the reading of a file shares.
pub struct Shared {
    file: Mutex<File>,
    length: u64,
    /// Bytes of open pages.
    open: AtomicU64,
    /// Values of columns with lists since the batch began.
    listed: AtomicU64,
    /// Why a page could not be read. The parquet crate passes errors on as text.
    fault: Mutex<Option<ParquetFault>>,
}

impl Shared {
    pub fn new(mut file: File) -> std::io::Result<Shared> {
        let length = file.seek(SeekFrom::End(0))?;
        let (open, listed) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Shared { file: Mutex::new(file), length, open, listed, fault: Mutex::new(None) })
    }

    /// The fault behind an error of the parquet crate: that of a page, or else damaged content. The error itself is not
    /// repeated, because it may contain a value.
    pub fn fault(&self) -> ParquetFault {
        let fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner).take();
        fault.unwrap_or(ParquetFault::Damaged { what: "content" })
    }

    /// Keeps a fault, and makes the error that the parquet crate passes on.
    fn kept(&self, fault: ParquetFault) -> ParquetError {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
        ParquetError::General("a page cannot be read".to_owned())
    }

    /// Begins a batch.
    pub fn begin_batch(&self) {
        self.listed.store(0, Ordering::Relaxed);
    }

    /// Reads `length` bytes.
    fn read(&self, start: u64, length: u64) -> std::result::Result<Vec<u8>, ParquetFault> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.by_ref().take(length).read_to_end(&mut bytes)?;
        if bytes.len() as u64 == length { Ok(bytes) } else { Err(ParquetFault::Damaged { what: "end" }) }
    }

    /// Counts the bytes of a page that is opened.
    fn opened(&self, bytes: u64) -> std::result::Result<(), ParquetFault> {
        if self.open.fetch_add(bytes, Ordering::Relaxed) + bytes > OPEN_BYTES_MAX {
            return Err(ParquetFault::TooLarge { what: "pages", max: "256 MiB in all columns together" });
        }
        Ok(())
    }
}

/// One row group of a file.
pub struct Group {
    pub metadata: Arc<ParquetMetaData>,
    pub index: usize,
    pub shared: Arc<Shared>,
}

impl RowGroups for Group {
    fn num_rows(&self) -> usize {
        usize::try_from(self.metadata.row_group(self.index).num_rows()).unwrap_or_default()
    }

    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>> {
        let pages = Pages::new(self, column).map_err(|fault| self.shared.kept(fault))?;
        Ok(Box::new(Chunks(Some(pages))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::once(self.metadata.row_group(self.index)))
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// The only chunk of a column in a row group.
struct Chunks(Option<Pages>);

impl Iterator for Chunks {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(|pages| Ok(Box::new(pages) as Box<dyn PageReader>))
    }
}

impl PageIterator for Chunks {}

/// The pages of a column in a row group.
struct Pages {
    shared: Arc<Shared>,
    compression: Compression,
    has_lists: bool,
    /// Where the next header begins, and where the chunk ends.
    at: u64,
    end: u64,
    /// The next header, and its length, if it was read ahead.
    ahead: Option<(PageHeader, u64)>,
    /// Bytes of the open dictionary and of the open page of data.
    dictionary: u64,
    data: u64,
}

impl Pages {
    fn new(group: &Group, column: usize) -> std::result::Result<Pages, ParquetFault> {
        let chunk = group.metadata.row_group(group.index).column(column);
        let start = match chunk.dictionary_page_offset() {
            Some(offset) if (1..chunk.data_page_offset()).contains(&offset) => offset,
            _ => chunk.data_page_offset(),
        };
        let bounds = u64::try_from(start).ok().zip(u64::try_from(chunk.compressed_size()).ok());
        let bounds = bounds.and_then(|(start, length)| Some((start, start.checked_add(length)?)));
        let (at, end) = bounds.filter(|(_, end)| *end <= group.shared.length).ok_or(DAMAGED)?;
        Ok(Pages {
            shared: Arc::clone(&group.shared),
            compression: chunk.compression(),
            has_lists: chunk.column_descr().max_rep_level() > 0,
            at,
            end,
            ahead: None,
            dictionary: 0,
            data: 0,
        })
    }

    /// The next header without consuming it; `None` at the end of the chunk. Pages that are neither data nor a dictionary
    /// are skipped.
    fn header(&mut self) -> std::result::Result<Option<PageHeader>, ParquetFault> {
        loop {
            if let Some((header, _)) = &self.ahead {
                return Ok(Some(*header));
            }
            if self.at >= self.end {
                return Ok(None);
            }
            let (header, length) = self.read_header()?;
            let body_end = (self.at + length).checked_add(u64::from(header.compressed_bytes));
            if body_end.is_none_or(|end| end > self.end) {
                return Err(DAMAGED);
            }
            if header.kind == PageKind::Other {
                self.at += length + u64::from(header.compressed_bytes);
            } else {
                self.ahead = Some((header, length));
            }
        }
    }

    fn read_header(&self) -> std::result::Result<(PageHeader, u64), ParquetFault> {
        let mut wanted = HEADER_BYTES;
        loop {
            let bytes = self.shared.read(self.at, wanted.min(self.end - self.at))?;
            match PageHeader::read(&bytes) {
                Ok((header, length)) => return Ok((header, length as u64)),
                Err(Undecodable::Ended) if self.at + wanted < self.end && wanted < HEADER_BYTES_MAX => wanted *= 8,
                Err(_) => return Err(DAMAGED),
            }
        }
    }

    /// The next page, which is consumed.
    fn page(&mut self) -> std::result::Result<Option<Page>, ParquetFault> {
        let Some(header) = self.header()? else { return Ok(None) };
        let Some((_, length)) = self.ahead.take() else { return Ok(None) };
        let size = u64::from(header.bytes);
        if header.kind == PageKind::Dictionary {
            self.shared.opened(size)?;
            self.dictionary += size;
        } else {
            self.shared.open.fetch_sub(std::mem::take(&mut self.data), Ordering::Relaxed);
            self.shared.opened(size)?;
            self.data = size;
            let values = if self.has_lists { u64::from(header.values) } else { 0 };
            if self.shared.listed.fetch_add(values, Ordering::Relaxed) + values > LISTED_VALUES_MAX {
                return Err(ParquetFault::TooLarge { what: "lists", max: "8 million values in 64 rows" });
            }
        }
        // Compression never makes a page much larger.
        let compressed = u64::from(header.compressed_bytes);
        if compressed > size + size / 2 + (1 << 20) {
            return Err(DAMAGED);
        }
        let bytes = self.shared.read(self.at + length, compressed)?;
        self.at += length + compressed;
        if let Some(expected) = header.crc {
            let mut crc = Crc::new();
            crc.update(&bytes);
            if crc.sum() != expected {
                return Err(ParquetFault::Damaged { what: "checksum" });
            }
        }
        self.decoded(&header, &bytes).map(Some)
    }

    fn decoded(&self, header: &PageHeader, bytes: &[u8]) -> std::result::Result<Page, ParquetFault> {
        let whole = |bytes: &[u8]| decompress(self.compression, bytes, header.bytes as usize).map(Bytes::from);
        let (num_values, encoding) = (header.values, header.encoding);
        Ok(match header.kind {
            PageKind::Dictionary => Page::DictionaryPage { buf: whole(bytes)?, num_values, encoding, is_sorted: false },
            PageKind::Data { definition, repetition } => Page::DataPage {
                buf: whole(bytes)?,
                num_values,
                encoding,
                def_level_encoding: definition,
                rep_level_encoding: repetition,
                statistics: None,
            },
            PageKind::DataV2 { nulls, rows, definition_bytes, repetition_bytes, is_compressed } => {
                // Only the values are compressed.
                let levels = definition_bytes as usize + repetition_bytes as usize;
                let values = (header.bytes as usize).checked_sub(levels).ok_or(DAMAGED)?;
                let (levels, rest) = bytes.split_at_checked(levels).ok_or(DAMAGED)?;
                let compression = if is_compressed { self.compression } else { Compression::UNCOMPRESSED };
                let buf = [levels, &decompress(compression, rest, values)?].concat();
                Page::DataPageV2 {
                    buf: buf.into(),
                    num_values,
                    encoding,
                    num_nulls: nulls,
                    num_rows: rows,
                    def_levels_byte_len: definition_bytes,
                    rep_levels_byte_len: repetition_bytes,
                    is_compressed: false,
                    statistics: None,
                }
            }
            PageKind::Other => return Err(DAMAGED),
        })
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        self.shared.open.fetch_sub(self.dictionary + self.data, Ordering::Relaxed);
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.page().map_err(|fault| self.shared.kept(fault))
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        let metadata = |header: PageHeader| PageMetadata {
            num_rows: match header.kind {
                PageKind::DataV2 { rows, .. } => Some(rows as usize),
                _ => None,
            },
            num_levels: Some(header.values as usize),
            is_dict: header.kind == PageKind::Dictionary,
        };
        Ok(self.header().map_err(|fault| self.shared.kept(fault))?.map(metadata))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.header().map_err(|fault| self.shared.kept(fault))?;
        if let Some((header, length)) = self.ahead.take() {
            self.at += length + u64::from(header.compressed_bytes);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_that_are_open_at_one_time_have_a_maximum_size_in_all_columns_together() {
        let shared = Shared::new(tempfile::tempfile().unwrap()).unwrap();
        shared.opened(200 << 20).unwrap();
        let refused = shared.opened(100 << 20).unwrap_err().to_string();
        assert!(
            refused.starts_with("expected pages of at most 256 MiB in all columns together, found more"),
            "{refused}"
        );
    }

    #[test]
    fn the_fault_of_a_page_is_told_once_and_any_other_error_is_damage() {
        let shared = Shared::new(tempfile::tempfile().unwrap()).unwrap();
        drop(shared.kept(ParquetFault::Encrypted));
        assert!(matches!(shared.fault(), ParquetFault::Encrypted));
        assert!(matches!(shared.fault(), ParquetFault::Damaged { what: "content" }));
    }
}
