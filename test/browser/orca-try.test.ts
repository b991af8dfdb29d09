import { createServer } from "node:http";
import { execFileSync } from "node:child_process";
import { it } from "vitest";
import { startOrca } from "./orca.ts";
const HTML = `<!doctype html><html lang=en><title>T</title><body><h1>Hi</h1><input id=m aria-label=Message><div id=host></div><script>
const sr = document.getElementById('host').attachShadow({mode:'open'});
sr.innerHTML='<p>frame</p><button>x</button>';
function build(role){ const d=document.createElement('dialog'); if(role) d.setAttribute('role',role); d.setAttribute('aria-labelledby','h'); d.setAttribute('aria-describedby','b'); d.innerHTML='<h2 id=h tabindex=-1 autofocus>Question from Bank</h2><div id=b><p>Careful.</p><p>Transfer 500 dollars.</p></div><div><button>Refuse</button><button>Check</button><button>Later</button></div>'; return d; }
const frame=()=>new Promise(r=>requestAnimationFrame(()=>requestAnimationFrame(r)));
const later=(ms)=>new Promise(r=>setTimeout(r,ms));
let cur;
const V={
 async v1(){ cur=build('alertdialog'); sr.append(cur); cur.showModal(); cur.querySelector('h2').focus(); },
 async v2(){ cur=build('alertdialog'); document.body.append(cur); cur.showModal(); cur.querySelector('h2').focus(); },
 async v3(){ cur=build('alertdialog'); sr.append(cur); await later(300); cur.showModal(); cur.querySelector('h2').focus(); },
 async v4(){ cur=build('dialog'); sr.append(cur); cur.showModal(); cur.querySelector('h2').focus(); await frame(); cur.setAttribute('role','alertdialog'); },
 async v5(){ cur=build('dialog'); sr.append(cur); cur.showModal(); cur.querySelector('h2').focus(); },
 async v6(){ cur=build('alertdialog'); sr.append(cur); cur.show(); for (const e of [...document.body.children]) if (e.id!=='host') e.inert=true; for (const e of sr.children) if (e!==cur) e.inert=true; cur.querySelector('h2').focus(); },
 async v7(){ for (const e of [...document.body.children]) if (e.id!=='host') e.inert=true; for (const e of sr.children) e.inert=true; await later(200); cur=build('alertdialog'); sr.append(cur); cur.show(); cur.querySelector('h2').focus(); },
 async v8(){ const d=document.createElement('dialog'); sr.append(d); d.innerHTML='<div role=alertdialog aria-labelledby=h aria-describedby=b></div>'; const t=build('x'); d.firstChild.innerHTML=t.innerHTML; cur=d; d.showModal(); d.querySelector('h2').focus(); },
 async v9(){ const d=document.createElement('dialog'); d.setAttribute('role','none'); sr.append(d); cur=d; d.showModal(); await later(150); d.innerHTML='<div role=alertdialog aria-modal=true aria-labelledby=h aria-describedby=b></div>'; const t=build('x'); d.firstChild.innerHTML=t.innerHTML;  d.querySelector('h2').focus(); },
};
async function close(){ cur.close(); cur.remove(); for (const e of [...document.body.children, ...sr.children]) e.inert=false; document.getElementById('m').focus(); }
</script>`;
it("try", async () => {
  const orca = await startOrca();
  const server = createServer((_, res) => res.writeHead(200, { "content-type": "text/html" }).end(HTML));
  await new Promise<void>((r) => server.listen(0, "127.0.0.1", r));
  try {
    const page = await orca.browser.newPage({ viewport: null });
    await page.goto(`http://127.0.0.1:${(server.address() as { port: number }).port}`);
    await new Promise((r) => setTimeout(r, 2500));
    await orca.type("F6"); 
    await page.evaluate("document.getElementById('m').focus()");
    await new Promise((r) => setTimeout(r, 1500));
    let at = orca.spoken().length; console.log(orca.spoken());
    for (const v of ["v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9"]) {
      await page.evaluate(`V.${v}()`);
      await new Promise((r) => setTimeout(r, 2200));
      console.log(v, orca.spoken().slice(at)); at = orca.spoken().length;
      await page.evaluate("close()");
      await new Promise((r) => setTimeout(r, 1200));
      console.log("   closed", orca.spoken().slice(at)); at = orca.spoken().length;
    }
  } finally { await orca.close(); server.close(); }
}, 90000);
