//! Tokenizers of Hugging Face models: from the hub's cache on this machine, else by download.

use std::{error::Error as _, fs, io, path::PathBuf, time::Duration};

use records::{Error, Result};
use reqwest::{
    StatusCode, Url,
    blocking::{Client, Response},
};

use crate::{Tokens, locate, tokens::Config};

/// Unreachable hosts are given up after this long.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Ample for a tokenizer's few MB on a slow line.
const TIMEOUT: Duration = Duration::from_secs(300);

/// What a model may have beside its `tokenizer.json`.
const BESIDE: [&str; 2] = ["tokenizer_config.json", "chat_template.jinja"];

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
        let url = self.url(id, "tokenizer.json");
        let json = self.download(&url)?;
        // What is no tokenizer must not be kept.
        let tokens = Tokens::from_json(&url, &json)?;
        let mut files = Vec::new();
        for name in BESIDE {
            files.extend(self.download_if_any(&self.url(id, name))?.map(|bytes| (name, bytes)));
        }
        files.push(("tokenizer.json", json));
        match self.keep(id, &files) {
            Ok(Some(file)) => {
                eprintln!("gen-dataset: downloaded {url} to {}", file.display());
                return locate::from_file(&file);
            }
            Ok(None) => eprintln!("gen-dataset: warning: downloaded {url}; not kept, since HOME is not set"),
            Err(error) => eprintln!("gen-dataset: warning: downloaded {url}; not kept: {error}"),
        }
        let file = |name| files.iter().find(|(known, _)| *known == name).map(|(_, bytes)| &bytes[..]);
        configured(tokens, &self.url(id, BESIDE[0]), BESIDE.map(file))
    }

    fn url(&self, id: &str, name: &str) -> String {
        format!("{}/{id}/resolve/main/{name}", self.endpoint)
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
        let answer = self.get(url)?;
        if !answer.status().is_success() {
            return Err(refused(url, &self.refusal(&answer)));
        }
        answer.bytes().map(|body| body.to_vec()).map_err(|error| refused(url, &cause(&error)))
    }

    /// A file that a model need not have.
    fn download_if_any(&self, url: &str) -> Result<Option<Vec<u8>>> {
        let answer = self.get(url)?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        if !answer.status().is_success() {
            return Err(refused(url, &self.refusal(&answer)));
        }
        answer.bytes().map(|body| Some(body.to_vec())).map_err(|error| refused(url, &cause(&error)))
    }

    fn get(&self, url: &str) -> Result<Response> {
        let parsed = Url::parse(url).map_err(|error| refused(url, &format!("{error}; check HF_ENDPOINT")))?;
        let client = client(is_loopback(&parsed)).map_err(|error| refused(url, &cause(&error)))?;
        let mut request = client.get(parsed);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        request.send().map_err(|error| {
            let why = format!("{}; without a network, name a tokenizer.json or a folder", cause(&error));
            refused(url, &why)
        })
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

    /// Each is written under another name first: a reader must never find half a file. The last is the one that a later
    /// run looks for.
    fn keep(&self, id: &str, files: &[(&str, Vec<u8>)]) -> io::Result<Option<PathBuf>> {
        let Some(downloads) = &self.downloads else { return Ok(None) };
        let folder = downloads.join(folder(id));
        fs::create_dir_all(&folder)?;
        let mut kept = None;
        for (name, bytes) in files {
            let part = folder.join(format!("{name}.{}", std::process::id()));
            let file = folder.join(name);
            fs::write(&part, bytes)?;
            fs::rename(&part, &file)?;
            kept = Some(file);
        }
        Ok(kept)
    }
}

/// The tokenizer with what was downloaded beside it.
fn configured(mut tokens: Tokens, what: &str, [config, template]: [Option<&[u8]>; 2]) -> Result<Tokens> {
    if let Some(config) = config {
        tokens.configure(Config::new(what, config, template)?);
    }
    Ok(tokens)
}

fn refused(url: &str, problem: &str) -> Error {
    Error::usage(format!("--tokenizer: {url}: {problem}"))
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
