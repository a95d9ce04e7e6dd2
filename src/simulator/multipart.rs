//! A strict reader of `multipart/form-data`: every part must be well formed, and every name may occur once. It has its
//! own code, so that it cannot inherit a mistake of the client.

use super::reply::Refusal;

/// The most parts of a body, and the longest head of a part.
const PARTS_MAX: usize = 64;
const HEAD_BYTES_MAX: usize = 4 * 1024;

/// One part of a body.
pub(super) struct Part<'a> {
    pub(super) name: String,
    /// The name of its file, if it is a file.
    pub(super) file_name: Option<String>,
    pub(super) media_type: Option<String>,
    pub(super) content: &'a [u8],
}

/// The boundary in a `Content-Type`; `None` if it is another type.
pub(super) fn boundary(content_type: &str) -> Option<&str> {
    let (media_type, parameters) = content_type.split_once(';')?;
    if !media_type.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let (name, value) = parameters.trim().split_once('=')?;
    let value = value.trim().trim_matches('"');
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"'()+_,-./:=?".contains(&byte);
    (name.eq_ignore_ascii_case("boundary") && (1..=70).contains(&value.len()) && value.bytes().all(fits))
        .then_some(value)
}

/// The parts of a body.
pub(super) fn parts<'a>(body: &'a [u8], boundary: &str) -> Result<Vec<Part<'a>>, Refusal> {
    let refused = |what: &str| Refusal::new(400, "invalid_multipart", format!("the multipart body is invalid: {what}"));
    let first = format!("--{boundary}");
    let between = format!("\r\n--{boundary}");
    let mut rest = body.strip_prefix(first.as_bytes()).ok_or_else(|| refused("it does not begin with its boundary"))?;
    let mut parts: Vec<Part<'a>> = Vec::new();
    loop {
        if rest == b"--\r\n" || rest == b"--" {
            break;
        }
        rest = rest.strip_prefix(b"\r\n").ok_or_else(|| refused("a boundary is not at the end of its line"))?;
        let end = position(rest, between.as_bytes()).ok_or_else(|| refused("the last boundary is missing"))?;
        let head = position(&rest[..end], b"\r\n\r\n").filter(|length| *length <= HEAD_BYTES_MAX);
        let head = head.ok_or_else(|| refused("a part has no end of its headers"))?;
        let text = std::str::from_utf8(&rest[..head]).map_err(|_| refused("a header is not text"))?;
        let part = part(text, &rest[head + 4..end]).ok_or_else(|| refused("a header of a part is invalid"))?;
        if parts.iter().any(|known| known.name == part.name) || parts.len() == PARTS_MAX {
            return Err(refused("a name occurs twice, or there are too many parts"));
        }
        parts.push(part);
        rest = &rest[end + between.len()..];
    }
    Ok(parts)
}

fn part<'a>(head: &str, content: &'a [u8]) -> Option<Part<'a>> {
    let (mut disposition, mut media_type) = (None, None);
    for line in head.split("\r\n") {
        let (name, value) = line.split_once(':')?;
        let known = match name.to_ascii_lowercase().as_str() {
            "content-disposition" => &mut disposition,
            "content-type" => &mut media_type,
            _ => return None,
        };
        if known.replace(value.trim().to_owned()).is_some() {
            return None;
        }
    }
    let disposition = disposition?;
    let mut parameters = disposition.split(';').map(str::trim);
    if parameters.next() != Some("form-data") {
        return None;
    }
    let (mut name, mut file_name) = (None, None);
    for parameter in parameters {
        let (key, value) = parameter.split_once('=')?;
        let value = value.strip_prefix('"')?.strip_suffix('"')?.to_owned();
        match key {
            "name" if name.is_none() => name = Some(value),
            "filename" if file_name.is_none() => file_name = Some(value),
            _ => return None,
        }
    }
    Some(Part { name: name?, file_name, media_type, content })
}

fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    let mut from = 0;
    // Files are large, so only places with the first byte are compared.
    while let Some(at) = bytes.get(from..)?.iter().position(|byte| *byte == first) {
        let at = from + at;
        if bytes[at..].starts_with(wanted) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<Vec<Part<'_>>, &'static str> {
        parts(body.as_bytes(), "b").map_err(|refusal| refusal.code)
    }

    #[test]
    fn parts_are_read_with_their_names() {
        let body = "--b\r\nContent-Disposition: form-data; name=\"mode\"\r\n\r\nsandbox\r\n--b\r\ncontent-disposition: \
                    form-data; name=\"file\"; filename=\"a.pdf\"\r\ncontent-type: application/pdf\r\n\r\nx--b\r\n\r\n--b--\r\n";
        let parts = read(body).ok().unwrap();
        let found: Vec<_> =
            parts.iter().map(|part| (part.name.as_str(), part.file_name.as_deref(), part.content)).collect();
        assert_eq!(found, [("mode", None, &b"sandbox"[..]), ("file", Some("a.pdf"), b"x--b\r\n")]);
        assert_eq!(boundary("multipart/form-data; boundary=a-b"), Some("a-b"));
        assert_eq!(boundary("multipart/form-data; boundary=\"a-b\""), Some("a-b"));
        assert_eq!(boundary("application/json"), None);
        assert_eq!(boundary("multipart/form-data; boundary="), None);
    }

    #[test]
    fn anything_else_is_refused() {
        let part = "--b\r\ncontent-disposition: form-data; name=\"a\"\r\n\r\nx\r\n";
        for body in [
            String::new(),
            "--c\r\n".to_owned(),
            part.to_owned(),
            format!("{part}--b"),
            format!("{part}--b--trailing"),
            format!("{part}{part}--b--\r\n"),
            "--b\r\ncontent-disposition: form-data; name=a\r\n\r\nx\r\n--b--\r\n".to_owned(),
            "--b\r\ncontent-disposition: attachment; name=\"a\"\r\n\r\nx\r\n--b--\r\n".to_owned(),
            "--b\r\nx-other: 1\r\n\r\nx\r\n--b--\r\n".to_owned(),
            "--b\r\ncontent-disposition: form-data; name=\"a\"\r\nx\r\n--b--\r\n".to_owned(),
        ] {
            assert_eq!(read(&body).err(), Some("invalid_multipart"), "{body:?}");
        }
    }
}
