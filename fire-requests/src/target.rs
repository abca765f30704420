//! Where requests go: the base URL taken apart and joined with the paths.

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
};

use http::{
    HeaderMap, Uri,
    header::{HeaderName, HeaderValue},
};
use records::{Error, Result};

/// A server, and the headers that it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// `https`.
    pub(crate) tls: bool,
    /// Name or address, an IPv6 address without brackets.
    pub(crate) host: String,
    /// Its port.
    pub(crate) port: u16,
    /// As written in the `Host` header.
    pub(crate) authority: String,
    /// What stands before `/v1`: empty, or `/` and more.
    prefix: String,
    /// User and password of the URL, `user:password`.
    user: Option<String>,
    /// The Unix domain socket that it listens on, in place of host and port.
    pub(crate) socket: Option<PathBuf>,
}

impl Target {
    /// The base URL of a host, which may be an IPv6 address with brackets or without.
    pub(crate) fn url(host: &str, port: u16) -> String {
        if host.contains(':') && !host.starts_with('[') {
            format!("http://[{host}]:{port}")
        } else {
            format!("http://{host}:{port}")
        }
    }

    /// Takes `http(s)://[user:password@]host[:port][/prefix][/v1][/]` or `unix:/path/of/socket` apart.
    pub(crate) fn parse(url: &str) -> Result<Self> {
        let bad = |problem: &str| {
            let likes = "give it like http://127.0.0.1:8000 or unix:/path/of/socket";
            Error::usage(format!("--base-url: {problem}; {likes}"))
        };
        if let Some(path) = url.strip_prefix("unix:") {
            let path = Path::new(path);
            return if path.is_absolute() {
                Ok(Self::unix(path))
            } else {
                Err(bad("a socket needs its whole path"))
            };
        }
        let uri: Uri = url.parse().map_err(|_| bad("not a URL"))?;
        let tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(bad("must begin with http:// or https://")),
        };
        if uri.query().is_some() {
            return Err(bad("must not have a query (?…)"));
        }
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(|| bad("has no host"))?;
        let full = uri.authority().map_or("", |authority| authority.as_str());
        let (user, authority) = full.rsplit_once('@').map_or((None, full), |(user, rest)| (Some(user), rest));
        let port = match authority.strip_prefix(host).unwrap_or_default().strip_prefix(':') {
            Some(text) => text.parse().map_err(|_| bad("its port is no number from 0 to 65535"))?,
            None if tls => 443,
            None => 80,
        };
        let path = uri.path().trim_end_matches('/');
        Ok(Self {
            tls,
            host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
            port,
            authority: authority.to_owned(),
            prefix: path.strip_suffix("/v1").unwrap_or(path).trim_end_matches('/').to_owned(),
            user: user.map(percent_decoded),
            socket: None,
        })
    }

    fn unix(path: &Path) -> Self {
        Self {
            tls: false,
            host: "localhost".to_owned(),
            port: 80,
            authority: "localhost".to_owned(),
            prefix: String::new(),
            user: None,
            socket: Some(path.to_owned()),
        }
    }

    /// Where it listens, as messages name it.
    pub(crate) fn place(&self) -> String {
        self.socket.as_ref().map_or_else(|| self.authority.clone(), |path| path.display().to_string())
    }

    /// The URL without user and password, as messages and records show it.
    pub(crate) fn base_url(&self) -> String {
        if let Some(path) = &self.socket {
            return format!("unix:{}", path.display());
        }
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}{}", self.authority, self.prefix)
    }

    /// The path of `endpoint` on this server.
    pub(crate) fn path(&self, endpoint: &str) -> String {
        format!("{}/{}", self.prefix, endpoint.trim_start_matches('/'))
    }

    /// The headers of every request: given ones go before the URL's user, and that before the API's own.
    pub(crate) fn headers(
        &self,
        given: &[(HeaderName, HeaderValue)],
        own: &[(&'static str, String)],
    ) -> Result<HeaderMap> {
        let mut headers = HeaderMap::new();
        let user =
            self.user.as_ref().map(|user| ("authorization", format!("Basic {}", base64(user.as_bytes()))));
        for (name, text) in own.iter().chain(&user) {
            let mut value: HeaderValue = text
                .parse()
                .map_err(|_| Error::usage("the API key holds characters that no header may have"))?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        for (name, value) in given {
            headers.insert(name, value.clone());
        }
        Ok(headers)
    }

    /// The proxy variable that other tools would obey for this server; ours goes direct.
    pub(crate) fn unused_proxy(&self, get: impl Fn(&str) -> Option<String>) -> Option<&'static str> {
        let names = if self.tls {
            ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
        } else {
            ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]
        };
        let set = |name: &&str| get(name).is_some_and(|value| !value.is_empty());
        let name = names.into_iter().find(set).filter(|_| !self.is_loopback())?;
        let exempt = get("NO_PROXY").or_else(|| get("no_proxy")).unwrap_or_default();
        let matches = |entry: &str| {
            let suffix = entry.trim().trim_start_matches('.');
            entry.trim() == "*"
                || !suffix.is_empty()
                    && self
                        .host
                        .strip_suffix(suffix)
                        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        (!exempt.split(',').any(matches)).then_some(name)
    }

    fn is_loopback(&self) -> bool {
        self.host == "localhost" || self.host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) if *first == b'%' => (bytes, rest) = ([bytes, vec![byte]].concat(), &tail[2..]),
            _ => (bytes, rest) = ([bytes, vec![*first]].concat(), tail),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Base64 of RFC 4648 with padding, for HTTP's Basic authentication.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let word =
            group.iter().fold(0u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= group.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use http::header::AUTHORIZATION;

    use super::*;

    #[test]
    fn every_base_reaches_the_endpoint() {
        for (base, path) in [
            ("http://h:1", "/v1/completions"),
            ("http://h:1/", "/v1/completions"),
            ("http://h:1/v1", "/v1/completions"),
            ("http://h:1/v1/", "/v1/completions"),
            ("http://h:1//", "/v1/completions"),
            ("https://h/b/crlf", "/b/crlf/v1/completions"),
            ("https://h/b/crlf/v1/", "/b/crlf/v1/completions"),
        ] {
            assert_eq!(Target::parse(base).unwrap().path("/v1/completions"), path, "{base}");
        }
        for host in ["::1", "[::1]"] {
            assert_eq!(Target::parse(&Target::url(host, 8)).unwrap().host, "::1");
        }
        assert_eq!(Target::parse("https://h").unwrap().port, 443);
    }

    #[test]
    fn odd_urls_are_refused() {
        let unix = Target::parse("unix:/run/x.sock").unwrap();
        assert_eq!((unix.base_url().as_str(), unix.path("/v1/x").as_str()), ("unix:/run/x.sock", "/v1/x"));
        for url in [
            "unix:x.sock",
            "unix:",
            "127.0.0.1:8000",
            "ftp://h",
            "http://",
            "http://h/?key=1",
            "http://h:99999",
            "",
        ] {
            assert!(Target::parse(url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_password_is_sent_and_not_shown() {
        let target = Target::parse("http://me:p%40ss@h:1/x").unwrap();
        assert_eq!(target.base_url(), "http://h:1/x");
        let key = [("authorization", "Bearer key".to_owned())];
        let headers = target.headers(&[], &key).unwrap();
        assert_eq!(headers[AUTHORIZATION], "Basic bWU6cEBzcw==");
        let given = [(AUTHORIZATION, HeaderValue::from_static("Token t"))];
        assert_eq!(target.headers(&given, &key).unwrap()[AUTHORIZATION], "Token t");
        let plain = Target::parse("http://h").unwrap();
        assert_eq!(plain.headers(&[], &key).unwrap()[AUTHORIZATION], "Bearer key");
        assert!(plain.headers(&[], &[]).unwrap().is_empty());
    }

    #[test]
    fn proxies_are_named_where_they_would_apply() {
        let proxy = |url: &str, no_proxy: &str| {
            let get = |name: &str| match name {
                "http_proxy" => Some("http://p:1".to_owned()),
                "NO_PROXY" => Some(no_proxy.to_owned()),
                _ => None,
            };
            Target::parse(url).unwrap().unused_proxy(get)
        };
        assert_eq!(proxy("http://gpu.example.com", ""), Some("http_proxy"));
        assert_eq!(proxy("http://gpu.example.com", "a.org, .example.com"), None);
        assert_eq!(proxy("http://gpu.example.com", "*"), None);
        assert_eq!(proxy("http://notexample.com", "example.com"), Some("http_proxy"));
        assert_eq!(proxy("http://127.0.0.1:8000", ""), None);
        assert_eq!(proxy("https://gpu.example.com", ""), None);
    }
}
