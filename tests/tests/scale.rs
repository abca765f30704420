//! Many streams at once.

use end_to_end::{Sim, bash, err, of_kind, out, run};

#[test]
fn a_thousand_streams_at_once_fit_in_150_mib() {
    let sim = Sim::start(&["--preset", "fixed", "--ttft-ms", "500", "--tpot-ms", "50"]);
    let script = format!(
        "gen-dataset random --input-len 32 --output-len 20 --num-prompts 1000 >prompts.jsonl
         fire-requests prompts.jsonl --base-url {} --ignore-eos --output run.jsonl --quiet &
         peak=0; while [ -d /proc/$! ]; do
           now=$(awk '/VmHWM/ {{print $2}}' /proc/$!/status 2>/dev/null); [ \"${{now:-0}}\" -gt $peak ] && peak=$now
           sleep 0.05
         done
         wait $!; echo \"$? $peak\"; cat run.jsonl",
        sim.url
    );
    let folder = tempfile::tempdir().unwrap();
    let output = run(bash(&script).current_dir(folder.path()));
    let text = out(&output);
    let (head, records) = text.split_once('\n').unwrap_or_else(|| panic!("{}", err(&output)));
    let (code, peak_kib) = head.split_once(' ').unwrap();
    assert_eq!(code, "0", "{}", err(&output));
    let end = &of_kind(records, "run_end")[0];
    assert_eq!((&end["ok"], &end["failed"]), (&1000.into(), &0.into()), "{end}");
    assert_eq!(end["client"]["peak_in_flight"], 1000);
    let peak_kib: u64 = peak_kib.parse().unwrap();
    assert!(peak_kib > 0 && peak_kib < 150 * 1024, "{peak_kib} KiB");
}
