//! Findings of assessors: reading an answer, and writing what counts into the intent.
//!
//! A finding counts only where all of its quotes stand in the intent as they are, so that an assessor can point at the
//! text and cannot add to it. What counts goes into `context.findings`, and from there `transform` makes questions of it:
//! nobody has to be asked again to get the same bundle.

use runseal_core::canon::Value;

use crate::context::Assessed;
use crate::intent::{Intent, Refusal};
use crate::measure::stands_in;

/// Findings that one answer may hold.
const MOST_FINDINGS: usize = 200;

/// What an assessor answered.
#[derive(Debug, Default)]
pub struct Assessment {
    /// Findings whose quotes stand in the intent.
    pub counted: Vec<Assessed>,
    /// The others: their position in the answer, and the first quote that does not stand in the intent.
    pub invented: Vec<(usize, String)>,
}

/// Reads an answer: `{"findings": […]}`, or the list alone. The error says what is wrong and where.
pub fn parse_assessment(answer: &Value, intent: &Intent) -> Result<Assessment, String> {
    let list = match answer {
        Value::Object(_) => answer
            .get("findings")
            .ok_or("the answer has no member `findings`")?,
        other => other,
    };
    let Value::Array(items) = list else {
        return Err(
            "the answer must be a list of findings, or an object with one in `findings`".to_owned(),
        );
    };
    if items.len() > MOST_FINDINGS {
        return Err(format!(
            "the answer holds {} findings, and {MOST_FINDINGS} is the most",
            items.len()
        ));
    }
    let mut assessment = Assessment::default();
    for (at, item) in items.iter().enumerate() {
        let assessed = Assessed::parse(item, &format!("findings[{at}]"))?;
        if stands_in(intent.goal(), intent.constraints(), &assessed) {
            assessment.counted.push(assessed);
        } else {
            let alone = |quote: &&String| {
                let one = Assessed {
                    quotes: vec![(*quote).clone()],
                    ..assessed.clone()
                };
                !stands_in(intent.goal(), intent.constraints(), &one)
            };
            let quote = assessed
                .quotes
                .iter()
                .find(alone)
                .cloned()
                .unwrap_or_default();
            assessment.invented.push((at, quote));
        }
    }
    Ok(assessment)
}

/// The intent with findings added to `context.findings`; one that is there already is not repeated.
pub fn with_findings(intent: &Intent, found: &[Assessed]) -> Result<Intent, Refusal> {
    let mut all = intent.declared().assessed.clone();
    for assessed in found {
        if !all.contains(assessed) {
            all.push(assessed.clone());
        }
    }
    let mut context = intent.context().clone();
    context.insert("findings", Value::array(all.iter().map(Assessed::to_value)));
    Intent::new(intent.goal(), intent.constraints(), context)
}
