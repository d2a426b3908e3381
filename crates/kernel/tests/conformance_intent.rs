//! Every vector of `kernel/intent.jsonl`: normalized intent and hash, or code and message.

use runseal_core::canon::{Dialect, ReadOptions, canonical_bytes, parse_document};
use runseal_kernel::parse_intent;
use runseal_testkit::{conformance, for_each_line, text};

#[test]
fn intent_conformance_vectors_normalize_and_hash() {
    let Some(folder) = conformance() else { return };
    let count = for_each_line(&folder.join("kernel/intent.jsonl"), |vector| {
        let given = canonical_bytes(vector.get("intent").unwrap(), Dialect::Kernel).unwrap();
        let document = parse_document(&given, &ReadOptions::INTENT).unwrap();
        match (parse_intent(&document), text(vector, "error")) {
            (Ok(intent), None) => {
                let ours = canonical_bytes(&intent.to_value(), Dialect::Kernel).unwrap();
                let wanted =
                    canonical_bytes(vector.get("normalized").unwrap(), Dialect::Kernel).unwrap();
                assert_eq!(
                    String::from_utf8_lossy(&ours),
                    String::from_utf8_lossy(&wanted)
                );
                assert_eq!(
                    Some(intent.hash().to_string()),
                    text(vector, "source_intent_hash")
                );
            }
            (Err(refusal), Some(code)) => {
                assert_eq!(refusal.code(), code);
                assert_eq!(Some(refusal.message()), text(vector, "message"));
            }
            (ours, wanted) => panic!(
                "expected {wanted:?}, actual {ours:?}: {}",
                String::from_utf8_lossy(&given)
            ),
        }
    });
    assert!(count > 100, "{count} vectors");
}
