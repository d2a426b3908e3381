#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]
mod support;
use runseal_testkit::{for_each_line, project_root, text};
use support::*;
#[test]
fn tmp() {
    let mut n = std::collections::BTreeMap::<char,(usize,usize)>::new();
    let mut clean=(0,0);
    let mut files: Vec<_> = std::fs::read_dir(project_root().join("vectors/kernel/labelled")).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    for f in files {
        for_each_line(&f, |line| {
            let it = line.get("intent").unwrap();
            let cs = strings(it.get("constraints"));
            let b = bundle_of(&text(it,"goal").unwrap(), &cs);
            let mut labels = vec![];
            for l in line.get("findings").unwrap().items() {
                let k = text(l,"kind").unwrap().chars().next().unwrap();
                let q = l.get("quote").unwrap();
                let qs = match q.as_str() { Some(x)=>vec![x.into_owned()], None=>strings(Some(q))};
                let hit = b.questions.iter().any(|x| letter(x)==k && qs.iter().all(|q| x.text.contains(q.as_str())));
                let e=n.entry(k).or_default(); e.1+=1; e.0+=usize::from(hit);
                if !hit && k!='G' { println!("MISS {k} {} {:?}", text(line,"id").unwrap(), qs); }
                labels.push((k,qs));
            }
            if text(line,"expect").unwrap()=="BUNDLE" { clean.1+=1; }
            let mut bad=false;
            for q in &b.questions {
                let ok = labels.iter().any(|(k,qs)| *k==letter(q) && (*k=='G' || qs.iter().any(|x| q.text.contains(x.as_str()) || x.contains(&q.finding.as_ref().unwrap().places[0].quote))));
                if !ok { bad=true; println!("FALSE {} {} {}", q.finding.as_ref().unwrap().rule.id, text(line,"id").unwrap(), q.text); }
            }
            if !bad && text(line,"expect").unwrap()=="BUNDLE" { clean.0+=1; }
        });
    }
    println!("{n:?} clean {clean:?}");
}
