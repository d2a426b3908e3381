//! Images, notebooks and JSON as Python writes it, compared in their own terms.

use runseal_testkit::skip::need_isolation;

use crate::record_support::Project;

/// Writes an image of four pixels, of which one is another every time by at most 255, a notebook with another number
/// every time, and JSON with a NaN.
const SCRIPT: &str = r#"
import json, struct, time, zlib
now = time.time_ns() // 1000
def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
pixel = struct.pack('>I', now & 0xffffff)[1:]
rows = b'\0' + b'\1\2\3' + pixel + b'\0' + b'\4\5\6' * 2
head = struct.pack('>IIBBBBB', 2, 2, 8, 2, 0, 0, 0)
with open('plot.png', 'wb') as file:
    file.write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', head) + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))
output = {'output_type': 'stream', 'name': 'stdout', 'text': ['score\n', f'{now / 1e9:.6f}\n']}
cell = {'cell_type': 'code', 'source': [], 'metadata': {}, 'execution_count': 1, 'outputs': [output]}
json.dump({'cells': [cell], 'metadata': {}, 'nbformat': 4, 'nbformat_minor': 5}, open('book.ipynb', 'w'))
json.dump({'loss': float('nan'), 'most': float('-inf'), 'score': 1 + (now % 1000003) / 1e12}, open('fit.json', 'w'))
"#;

#[test]
fn images_notebooks_and_bare_numbers_are_compared_in_their_own_terms() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("make.py", SCRIPT);
    project.record("r", &["--", "python3", "make.py"]);
    let ran = project.replay("r", &[]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    for told in [
        "an image of 2 × 2 as before: 1 of 4 pixels differ, by up to",
        "the first is at 1, 0",
        "cell 1, output 1, text, line 2: ",
    ] {
        assert!(ran.stdout.contains(told), "{told}: {}", ran.stdout);
    }
    let rules = [
        "--compare",
        "*.png=abs:255",
        "--compare",
        "*.ipynb=rel:0.01",
        "--compare",
        "*.json=rel:1e-3",
    ];
    let ran = project.replay("r", &rules);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert!(ran.stdout.contains("REPRODUCED within"), "{}", ran.stdout);
    let strict = ["--compare", "*.png=abs:0", "--compare", "*.ipynb=rel:1e-15"];
    let strict = [&strict[..], &["--compare", "*.json=rel:1e-15"]].concat();
    let ran = project.replay("r", &strict);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    for told in ["pixel 1, 0, ", "cell 1, output 1, text", "#/score: 1"] {
        assert!(ran.stdout.contains(told), "{told}: {}", ran.stdout);
    }
}
