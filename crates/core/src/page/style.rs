//! How the page looks: light and dark, on a screen and on paper.

pub(super) const STYLE: &str = r#"
:root{--bg:#f6f7f9;--card:#fff;--ink:#1b2330;--soft:#5a6678;--line:#dfe3ea;--good:#167a4a;--good-bg:#e3f5ec;
--bad:#b3261e;--bad-bg:#fdebea;--open:#8a5a00;--open-bg:#fdf3dc;--accent:#2f5fd0;--accent-bg:#e9effc;
--mono:ui-monospace,"SF Mono","DejaVu Sans Mono",Menlo,Consolas,monospace}
@media (prefers-color-scheme:dark){:root{--bg:#12161d;--card:#1a202a;--ink:#e6eaf1;--soft:#98a4b6;--line:#2c3543;
--good:#5fd39b;--good-bg:#12322a;--bad:#ff8a80;--bad-bg:#3a1c1c;--open:#f2c25b;--open-bg:#352a12;--accent:#8fb0ff;
--accent-bg:#1c2740}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1080px;margin:0 auto;padding:28px 20px 48px}
h1{font-size:26px;line-height:1.25;margin:4px 0 6px;overflow-wrap:anywhere}
h2{font-size:17px;margin:0 0 12px}
.kind{color:var(--soft);text-transform:uppercase;letter-spacing:.08em;font-size:12px;font-weight:600}
.path{font-family:var(--mono);font-size:13px;color:var(--soft);overflow-wrap:anywhere}
header{display:flex;gap:20px;justify-content:space-between;align-items:flex-start;margin-bottom:22px}
header>div{min-width:0}
.verdict{flex:none;text-align:right}
.badge{display:inline-block;padding:8px 18px;border-radius:999px;font-weight:700;font-size:18px;white-space:nowrap}
.badge.good{background:var(--good-bg);color:var(--good)}
.badge.bad{background:var(--bad-bg);color:var(--bad)}
.counts{color:var(--soft);font-size:13px;margin-top:6px}
section{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:18px 20px;margin:0 0 16px}
section.violations{border-color:var(--bad)}
dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:5px 18px;margin:0}
dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
.mono,td.mono,dd.mono{font-family:var(--mono);font-size:13px}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:14px}
th{text-align:left;color:var(--soft);font-weight:600;font-size:12.5px;padding:4px 12px 6px 0;border-bottom:1px solid var(--line);white-space:nowrap}
td{padding:6px 12px 6px 0;border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:anywhere}
tr:last-child td{border-bottom:0}
td.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.state{display:inline-block;padding:1px 9px;border-radius:999px;font-size:12.5px;font-weight:600;white-space:nowrap}
.state.passed{background:var(--good-bg);color:var(--good)}
.state.failed{background:var(--bad-bg);color:var(--bad)}
.state.open{background:var(--open-bg);color:var(--open)}
.state.na{background:var(--accent-bg);color:var(--accent)}
.finding{border-top:1px solid var(--line);padding:10px 0}
.finding:first-of-type{border-top:0;padding-top:0}
.finding .where{font-family:var(--mono);font-size:13px;overflow-wrap:anywhere}
.pair{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:2px 12px;font-family:var(--mono);font-size:13px;margin-top:4px}
.pair b{font-weight:600;color:var(--soft)}
.pair span{overflow-wrap:anywhere}
.pair .is{color:var(--bad)}
.means{color:var(--soft);font-size:13.5px;margin-top:4px}
details summary{cursor:pointer;color:var(--soft)}
svg{display:block;max-width:100%;height:auto}
svg text{font:12.5px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--ink)}
svg text.detail{font-size:11px;fill:var(--soft)}
svg text.lane{font-size:12px;font-weight:600;fill:var(--soft)}
svg rect.box{fill:var(--accent-bg);stroke:var(--accent);stroke-width:1}
svg rect.good{fill:var(--good-bg);stroke:var(--good)}
svg rect.bad{fill:var(--bad-bg);stroke:var(--bad)}
svg rect.open{fill:var(--open-bg);stroke:var(--open)}
svg path.edge{fill:none;stroke:var(--soft);stroke-width:1.2;opacity:.7}
svg path.head{fill:var(--soft);opacity:.8}
svg rect.bar{fill:var(--accent)}
footer{color:var(--soft);font-size:13px;margin-top:20px}
@media (max-width:640px){header{flex-direction:column}.verdict{text-align:left}dl{grid-template-columns:1fr}dt{margin-top:6px}}
@media print{:root{--bg:#fff;--card:#fff;--ink:#000;--soft:#444;--line:#bbb;--good:#0a5c35;--good-bg:#fff;--bad:#a00;--bad-bg:#fff;--open:#6b4600;--open-bg:#fff;--accent:#234;--accent-bg:#fff}
body{font-size:11pt}main{max-width:none;padding:0}section{break-inside:avoid-page;border-color:#999}section.long{break-inside:auto}
.badge,.state{border:1px solid currentColor}tr{break-inside:avoid}details>*{display:block}}
"#;
