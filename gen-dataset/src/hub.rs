//! Tokenizers of Hugging Face models: from the hub's cache on this machine, else by download.

use std::{error::Error as _, fs, io, path::PathBuf, time::Duration};

use records::{Error, Result};
use reqwest::{
    StatusCode, Url,
    blocking::{Client, Response},
};

use crate::{Tokens, locate};

/// Unreachable hosts are given up after this long.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Ample for a tokenizer's few MB on a slow line.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Where models are looked for.
pub(crate) struct Hub {
    /// The Hugging Face libraries' cache: only read.
    cache: Option<PathBuf>,
    /// Our own, for what was downloaded.
    downloads: Option<PathBuf>,
    endpoint: String,
    token: Option<String>,
    offline: bool,
}

impl Hub {
    /// Settings from the environment, by the names of Hugging Face's own libraries.
    pub(crate) fn from_env(var: impl Fn(&str) -> Option<String>) -> Self {
        let var = |name| var(name).filter(|value| !value.is_empty());
        let path = |name| var(name).map(PathBuf::from);
        let caches = path("XDG_CACHE_HOME").or_else(|| path("HOME").map(|home| home.join(".cache")));
        let home = path("HF_HOME").or_else(|| caches.as_ref().map(|caches| caches.join("huggingface")));
        let endpoint = var("HF_ENDPOINT").unwrap_or_else(|| "https://huggingface.co".to_owned());
        Self {
            cache: path("HF_HUB_CACHE").or_else(|| home.map(|home| home.join("hub"))),
            downloads: caches.map(|caches| caches.join("gen-dataset")),
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            token: var("HF_TOKEN"),
            offline: var("HF_HUB_OFFLINE")
                .is_some_and(|value| ["1", "ON", "YES", "TRUE"].contains(&value.to_uppercase().as_str())),
        }
    }

    /// The tokenizer of model `id`.
    pub(crate) fn load(&self, id: &str) -> Result<Tokens> {
        if let Some(file) = self.cached(id) {
            return locate::from_file(&file);
        }
        if self.offline {
            return Err(Error::usage(format!(
                "--tokenizer: {id} is not in the cache ({}) and HF_HUB_OFFLINE is set; unset it, or name a \
                 tokenizer.json",
                self.cache.as_deref().unwrap_or("none: HOME is not set".as_ref()).display()
            )));
        }
        let url = format!("{}/{id}/resolve/main/tokenizer.json", self.endpoint);
        let json = self.download(&url)?;
        let tokens = Tokens::from_json(&url, &json)?;
        match self.keep(id, &json) {
            Ok(Some(file)) => eprintln!("gen-dataset: downloaded {url} to {}", file.display()),
            Ok(None) => eprintln!("gen-dataset: warning: downloaded {url}; not kept, since HOME is not set"),
            Err(error) => eprintln!("gen-dataset: warning: downloaded {url}; not kept: {error}"),
        }
        Ok(tokens)
    }

    /// The file of an earlier download, by the hub's libraries or by us.
    fn cached(&self, id: &str) -> Option<PathBuf> {
        let folder = folder(id);
        let hubs = self.cache.as_ref().and_then(|cache| {
            let model = cache.join(&folder);
            let revision = fs::read_to_string(model.join("refs/main")).ok()?;
            Some(model.join("snapshots").join(revision.trim()).join("tokenizer.json"))
        });
        let ours = self.downloads.as_ref().map(|downloads| downloads.join(&folder).join("tokenizer.json"));
        hubs.into_iter().chain(ours).find(|file| file.is_file())
    }

    fn download(&self, url: &str) -> Result<Vec<u8>> {
        let fail = |problem: String| Error::usage(format!("--tokenizer: {url}: {problem}"));
        let parsed = Url::parse(url).map_err(|error| fail(format!("{error}; check HF_ENDPOINT")))?;
        let client = client(is_loopback(&parsed)).map_err(|error| fail(cause(&error)))?;
        let mut request = client.get(parsed);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().map_err(|error| {
            fail(format!("{}; without a network, name a tokenizer.json or a folder", cause(&error)))
        })?;
        if !answer.status().is_success() {
            return Err(fail(self.refusal(&answer)));
        }
        answer.bytes().map(|body| body.to_vec()).map_err(|error| fail(cause(&error)))
    }

    fn refusal(&self, answer: &Response) -> String {
        let status = answer.status();
        let remedy = match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if self.token.is_some() => {
                "HF_TOKEN gives no access to this model, or there is no such model"
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                "there is no such model, or it needs a token: set HF_TOKEN"
            }
            StatusCode::NOT_FOUND => "no such model, or it has no tokenizer.json; check the spelling",
            _ => "try again later, or name a tokenizer.json",
        };
        format!("status {status}; {remedy}")
    }

    /// Written under another name first: a reader must never find half a file.
    fn keep(&self, id: &str, json: &[u8]) -> io::Result<Option<PathBuf>> {
        let Some(downloads) = &self.downloads else { return Ok(None) };
        let folder = downloads.join(folder(id));
        fs::create_dir_all(&folder)?;
        let part = folder.join(format!("tokenizer.json.{}", std::process::id()));
        let file = folder.join("tokenizer.json");
        fs::write(&part, json)?;
        fs::rename(&part, &file)?;
        Ok(Some(file))
    }
}

/// A model's folder in the hub's cache.
fn folder(id: &str) -> String {
    format!("models--{}", id.replace('/', "--"))
}

fn client(direct: bool) -> reqwest::Result<Client> {
    // Fails only if a provider is installed already, which then serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(concat!("gen-dataset/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(TIMEOUT);
    if direct { builder.no_proxy() } else { builder }.build()
}

/// Proxies in the environment are not meant for this machine itself.
fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The innermost reason, which reqwest leaves out of its message.
fn cause(error: &reqwest::Error) -> String {
    let mut inner: &dyn std::error::Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    if error.source().is_none() { error.to_string() } else { inner.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hub(vars: &'static [(&'static str, &'static str)]) -> Hub {
        Hub::from_env(|name| vars.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn the_cache_is_where_the_hubs_libraries_keep_it() {
        for (vars, cache) in [
            (&[("HOME", "/h")][..], "/h/.cache/huggingface/hub"),
            (&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")], "/x/huggingface/hub"),
            (&[("HOME", "/h"), ("HF_HOME", "/f")], "/f/hub"),
            (&[("HF_HOME", "/f"), ("HF_HUB_CACHE", "/c")], "/c"),
            (&[("HOME", "/h"), ("HF_HUB_CACHE", "")], "/h/.cache/huggingface/hub"),
        ] {
            assert_eq!(hub(vars).cache, Some(cache.into()));
        }
        assert_eq!(hub(&[]).cache, None);
    }

    #[test]
    fn offline_is_a_flag_of_several_spellings() {
        assert!(hub(&[("HF_HUB_OFFLINE", "1")]).offline);
        assert!(hub(&[("HF_HUB_OFFLINE", "true")]).offline);
        assert!(!hub(&[("HF_HUB_OFFLINE", "0")]).offline);
        assert!(!hub(&[]).offline);
    }

    #[test]
    fn the_endpoints_last_slash_is_dropped() {
        assert_eq!(hub(&[("HF_ENDPOINT", "http://m/")]).endpoint, "http://m");
        assert_eq!(hub(&[]).endpoint, "https://huggingface.co");
    }

    #[test]
    fn loopback_is_known_by_name_and_number() {
        for (url, loopback) in [
            ("http://localhost:1/", true),
            ("http://127.0.0.2/", true),
            ("http://[::1]:8/", true),
            ("https://huggingface.co/", false),
            ("http://10.0.0.1/", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), loopback, "{url}");
        }
    }
}
