//! What holds for every stream of events, legal or not, however it is cut.

use proptest::{collection::vec, prelude::*, sample::select};

use crate::{sse::Splitter, sse_reference};

/// Streams of lines as servers write them, as none would write them, and of bytes that are no text.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    let known = select(vec![
        "",
        "data:",
        "data: ",
        "data: {\"text\":\" 日本\"}",
        "data:[DONE]",
        "data",
        " data: x",
        "data : x",
        "event: message",
        "id: 7",
        ":",
        ": ping",
        "\u{FEFF}",
        "\u{FEFF}data: x",
    ]);
    let line = prop_oneof![
        4 => known.prop_map(|line| line.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..12),
        1 => vec(any::<u8>(), 0..12).prop_map(|bytes| [b"data: ".as_slice(), &bytes].concat()),
    ];
    let end = select(vec!["\n", "\r", "\r\n", "\n\n", "\r\r", "\r\n\r\n", "\n\r\n", "\n\r", ""]);
    vec((line, end), 0..12)
        .prop_map(|lines| lines.into_iter().flat_map(|(line, end)| [line, end.into()].concat()).collect())
}

/// A stream in parts, some of them empty.
fn cut_streams() -> impl Strategy<Value = Vec<Vec<u8>>> {
    (streams(), vec(any::<prop::sample::Index>(), 0..12)).prop_map(|(stream, cuts)| {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        cuts.windows(2).map(|cut| stream[cut[0]..cut[1]].to_vec()).collect()
    })
}

/// Holds the splitter against the reference after every part, so that no event comes late, and at the end.
fn check<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Result<(), TestCaseError> {
    let (mut splitter, mut events, mut stream) = (Splitter::default(), Vec::new(), Vec::new());
    for part in parts {
        stream.extend_from_slice(part);
        splitter.push(part, &mut |event| events.push(event.to_vec()));
        prop_assert_eq!(&events, &sse_reference::events(&stream, false), "after {:?}", stream.escape_ascii());
        prop_assert!(splitter.held() <= stream.len() + 1);
    }
    splitter.finish(&mut |event| events.push(event.to_vec()));
    prop_assert_eq!(&events, &sse_reference::events(&stream, true), "all of {:?}", stream.escape_ascii());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cuts_change_nothing(parts in cut_streams()) {
        check(parts.iter().map(Vec::as_slice))?;
        check([parts.concat().as_slice()])?;
        check(parts.concat().chunks(1))?;
    }
}
