//! Parquet files, as JSON Lines for the record readers: one line per row, with every column.
//!
//! The pages are read and decompressed here, not by the parquet crate: so memory has a limit whatever a file claims, and
//! Snappy needs no further crate. The crate decodes the pages.
//!
//! | file | contents |
//! |---|---|
//! | `table` | opens a file and decides which are refused |
//! | `footer` | what is checked before the parquet crate parses the footer |
//! | `thrift`, `page_header` | the encoding of footers and page headers |
//! | `pages` | the pages of a column, with the limit on memory |
//! | `compression`, `snappy` | the decompression of a page |
//! | `row_text` | the rows of a batch as JSON Lines |
//! | `fault` | why a file cannot be read |

mod compression;
pub mod fault;
mod footer;
mod page_header;
mod pages;
pub mod row_text;
mod snappy;
pub mod table;
mod thrift;
