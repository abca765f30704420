//! Byte-level BPE (GPT-2, Llama 3, Qwen …), several times as fast as the `tokenizers` crate and equal to it.

use std::{
    borrow::Cow,
    sync::{Mutex, OnceLock},
};

use aho_corasick::{AhoCorasick, MatchKind};
use hashbrown::{HashMap, HashSet};
use rayon::prelude::*;
use unicode_normalization_alignments::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::{
    alphabet,
    cache::Cache,
    classes::{Class, Classes},
    file::{File, Manner},
    merges::Merges,
};

/// A byte-level tokenizer.
pub(super) struct ByteLevel {
    manner: Manner,
    merges: Merges,
    /// Of whole pieces that are tokens, where the file says that these need no merging.
    whole: HashMap<Vec<u8>, u32>,
    /// Of pieces that are known to become one token.
    words: OnceLock<HashMap<Vec<u8>, u32>>,
    /// Searched before the text is normalized.
    markers: Markers,
    /// Searched in the normalized text.
    normalized_markers: Markers,
    vocab_size: u32,
    pieces: Pieces,
    /// One for each thread at work.
    caches: Mutex<Vec<Cache>>,
}

impl ByteLevel {
    /// Takes over what `file` says; `None` if it asks for anything that is not done here.
    pub(super) fn new(file: &File) -> Option<Self> {
        let manner = file.manner()?;
        let ids: HashMap<&str, u32> = file.model.vocab.iter().map(|(token, id)| (&**token, *id)).collect();
        let merges = merges(file, &ids)?;
        let whole = if file.model.ignore_merges { whole(&ids) } else { HashMap::new() };
        let nfc = |text: &str| normalized(manner.nfc, text).into_owned();
        let added = |normalized| file.added_tokens.iter().filter(move |token| token.normalized == normalized);
        Some(Self {
            merges,
            whole,
            words: OnceLock::new(),
            markers: Markers::new(added(false).map(|token| (token.content.to_string(), token.id)))?,
            normalized_markers: Markers::new(added(true).map(|token| (nfc(&token.content), token.id)))?,
            vocab_size: u32::try_from(ids.len()).ok()?,
            pieces: Pieces::new(file)?,
            caches: Mutex::default(),
            manner,
        })
    }

    /// Tokens of the model, added ones not counted.
    pub(super) fn vocab_size(&self) -> u32 {
        self.vocab_size
    }

    /// Special tokens that a server puts around one text.
    pub(super) fn special_count(&self) -> u64 {
        self.manner.special_count
    }

    /// The bytes of a token; empty if there is no such token.
    pub(super) fn piece(&self, id: u32) -> &[u8] {
        self.pieces.of(id)
    }

    /// The tokens that the file calls by these names.
    pub(super) fn ids(&self, names: &[String]) -> HashSet<u32> {
        let names: HashSet<Vec<u8>> = names.iter().map(|name| bytes_of(name)).collect();
        (0..self.pieces.count()).filter(|id| names.contains(self.piece(*id))).collect()
    }

    /// Whether `id` is a space and letters that no pattern takes apart, and encodes to itself.
    pub(super) fn is_word(&self, id: u32) -> bool {
        let piece = self.piece(id);
        let Some(Ok(word)) = piece.strip_prefix(b" ").map(std::str::from_utf8) else { return false };
        let classes = Classes::get();
        !word.is_empty()
            && word.chars().all(|c| classes.of(c) == Class::Letter)
            && (!self.manner.nfc || classes.is_plain(word))
            && !self.markers.are_in(word)
            && !self.normalized_markers.are_in(word)
            && self.is_one_token(piece, id)
    }

    /// Merges these [words](Self::is_word) no more: text is going to be made of them.
    pub(super) fn remember(&self, words: &[u32]) {
        self.words.get_or_init(|| words.iter().map(|id| (self.piece(*id).to_vec(), *id)).collect());
    }

    fn is_one_token(&self, piece: &[u8], id: u32) -> bool {
        let mut ids = Vec::new();
        match self.whole.get(piece) {
            Some(whole) => ids.push(*whole),
            None => self.merges.encode(piece, &mut ids),
        }
        ids == [id]
    }

    /// The tokens of `text`.
    pub(super) fn encode(&self, text: &str) -> Vec<u32> {
        let mut cache = self.caches.lock().ok().and_then(|mut caches| caches.pop()).unwrap_or_default();
        let mut out = Vec::with_capacity(text.len() / 3);
        self.markers.split(text, &mut out, |part, out| {
            let part = normalized(self.manner.nfc, part);
            self.normalized_markers.split(&part, out, |part, out| self.encode_part(part, &mut cache, out));
        });
        if let Ok(mut caches) = self.caches.lock() {
            caches.push(cache);
        }
        out
    }

    fn encode_part(&self, part: &str, cache: &mut Cache, out: &mut Vec<u32>) {
        let words = self.words.get();
        for piece in self.manner.pattern.pieces(part) {
            let piece = piece.as_bytes();
            match self.whole.get(piece).or_else(|| words?.get(piece)) {
                Some(id) => out.push(*id),
                None => cache.encode(piece, out, |out| self.merges.encode(piece, out)),
            }
        }
    }

    /// The text of `ids`, with U+FFFD for what is no UTF-8. Unknown ids are passed over.
    pub(super) fn decode(&self, ids: &[u32]) -> String {
        let mut bytes = Vec::with_capacity(ids.len() * 6);
        for id in ids {
            bytes.extend_from_slice(self.piece(*id));
        }
        String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

fn merges(file: &File, ids: &HashMap<&str, u32>) -> Option<Merges> {
    let mut bytes = Box::new([0; 256]);
    for byte in 0..=255 {
        bytes[usize::from(byte)] = *ids.get(&*alphabet::char_of(byte).to_string())?;
    }
    let pairs: Option<Vec<_>> = file
        .model
        .merges
        .par_iter()
        .map_with(String::new(), |merged, merge| {
            merged.clear();
            merged.extend([&*merge.0, &*merge.1]);
            Some((*ids.get(&*merge.0)?, *ids.get(&*merge.1)?, *ids.get(merged.as_str())?))
        })
        .collect();
    Some(Merges::new(bytes, pairs?.into_iter()))
}

/// Tokens by their bytes. One that does not stand for bytes is never met in a piece.
fn whole(ids: &HashMap<&str, u32>) -> HashMap<Vec<u8>, u32> {
    let bytes = |token: &str| {
        let mut bytes = Vec::new();
        alphabet::push_bytes(token, &mut bytes).then_some(bytes)
    };
    ids.iter().filter_map(|(token, id)| Some((bytes(token)?, *id))).collect()
}

/// What a token stands for: bytes or, if it is not written in their alphabet, itself.
fn push_bytes(token: &str, bytes: &mut Vec<u8>) {
    if !alphabet::push_bytes(token, bytes) {
        bytes.extend_from_slice(token.as_bytes());
    }
}

fn bytes_of(token: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    push_bytes(token, &mut bytes);
    bytes
}

/// The normal form of `text`, if it is asked for.
fn normalized(nfc: bool, text: &str) -> Cow<'_, str> {
    if !nfc || Classes::get().is_plain(text) || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().nfc().map(|(c, _)| c).collect())
}

/// Added tokens, found in a text wherever they stand.
struct Markers {
    finder: Option<AhoCorasick>,
    ids: Vec<u32>,
}

impl Markers {
    fn new(tokens: impl Iterator<Item = (String, u32)>) -> Option<Self> {
        let (contents, ids): (Vec<_>, Vec<_>) = tokens.filter(|(content, _)| !content.is_empty()).unzip();
        if contents.is_empty() {
            return Some(Self { finder: None, ids });
        }
        let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(contents).ok()?;
        Some(Self { finder: Some(finder), ids })
    }

    /// Whether there is one in `text`. One that a space would complete is looked for as well.
    fn are_in(&self, text: &str) -> bool {
        self.finder.as_ref().is_some_and(|finder| finder.is_match(&format!(" {text} {text} ")))
    }

    /// Appends the tokens found in `text` to `out`; what lies between goes to `rest`.
    fn split(&self, text: &str, out: &mut Vec<u32>, mut rest: impl FnMut(&str, &mut Vec<u32>)) {
        let mut start = 0;
        for found in self.finder.iter().flat_map(|finder| finder.find_iter(text)) {
            rest(&text[start..found.start()], out);
            out.push(self.ids[found.pattern().as_usize()]);
            start = found.end();
        }
        rest(&text[start..], out);
    }
}

/// The bytes of each token, by id.
struct Pieces {
    starts: Vec<u32>,
    bytes: Vec<u8>,
}

impl Pieces {
    /// Added tokens hide those of the model.
    fn new(file: &File) -> Option<Self> {
        let model = file.model.vocab.iter().map(|(token, id)| (*id, &**token));
        let added = file.added_tokens.iter().map(|token| (token.id, &*token.content));
        let count = model.clone().chain(added.clone()).map(|(id, _)| id).max()? as usize + 1;
        // Ids that leave most numbers out would waste what a table takes.
        if count > 4 * (file.model.vocab.len() + file.added_tokens.len()) {
            return None;
        }
        let mut tokens = vec![""; count];
        for (id, token) in model.chain(added) {
            tokens[id as usize] = token;
        }
        let mut pieces = Self { starts: vec![0], bytes: Vec::new() };
        for token in tokens {
            push_bytes(token, &mut pieces.bytes);
            pieces.starts.push(u32::try_from(pieces.bytes.len()).ok()?);
        }
        Some(pieces)
    }

    fn count(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    fn of(&self, id: u32) -> &[u8] {
        match self.starts.get(id as usize..).and_then(|starts| starts.get(..2)) {
            Some([start, end]) => &self.bytes[*start as usize..*end as usize],
            _ => &[],
        }
    }
}
