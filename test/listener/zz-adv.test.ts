import { it, expect } from "vitest";
import { Ear, eventsOf, type Fields } from "./support.ts";
const mk=(event:any)=>(over: Fields = {}) => event("awaiting.confirmation", { action: "Transfer $500.", consequence: "Gone.", reply_token: "rpl_1", timeout_seconds: 300, default_decision: "reject", risk_level:"high", irreversible:true, extra_context:{params:[{name:"amount",label:"Amount",value:500}]}, ...over });
it("changed after sent", () => {
  const event=eventsOf(); const c=mk(event); const ear=new Ear(); ear.taken="later";
  ear.hear(c()).answer("yes").answer("confirm");
  ear.hear(c({extra_context:{params:[{name:"amount",label:"Amount",value:9000}]}}));
  ear.announcer.sent(ear.sent[0]!, true, ear.now); ear.pump();
  console.log("CHANGED AFTER SENT", ear.texts);
});
it("question flood", () => {
  const event=eventsOf(); const c=mk(event); const ear=new Ear({}, ()=>3000);
  for(let i=0;i<1000;i++) ear.hear(c({reply_token:`rpl_${i}`, action:`Act ${i}.`}));
  console.log("FLOOD", ear.announcer.questions, ear.announcer.history.length); ear.wait(60000); console.log(ear.texts.slice(0,6), ear.texts.length);
});
it("changing flood", () => {
  const event=eventsOf(); const c=mk(event); const ear=new Ear({}, ()=>3000);
  for(let i=0;i<100;i++) ear.hear(c({action:`Act ${i}.`}));
  ear.wait(60000); console.log("CHANGING", ear.texts.slice(0,8), ear.texts.length);
});
it("withdrawn before spoken", () => {
  const event=eventsOf(); const c=mk(event); const ear=new Ear({}, ()=>3000);
  ear.hear(event("session.errored",{summary_normal:"x", error_category:"transient"}));
  const e2=eventsOf("en",{session_id:"sess_2"}); const c2=mk(e2);
  ear.hear(c2());
  ear.hear(e2("state.changed",{from_state:"awaiting_input",to_state:"thinking","@context": ["https://aaep-protocol.org/context/v1", "urn:earshot:aaep:v1"], extensions:{earshot:{resolves:{reply_token:"rpl_1",outcome:"withdrawn"}}}}));
  ear.wait(20000); console.log("WITHDRAWN", ear.texts);
});
it("same name two agents", () => {
  const a=eventsOf("en",{producer:{agent_id:"a1",agent_name:"Bank"}}), b=eventsOf("en",{session_id:"sess_2",producer:{agent_id:"b2",agent_name:"Bаnk"}}), d=eventsOf("en",{session_id:"sess_3",producer:{agent_id:"a1",agent_name:"Bank"}});
  const ear=new Ear();
  ear.announcer.hear(a("session.started",{summary_normal:"Hi."}),0,"1"); ear.announcer.hear(b("session.started",{summary_normal:"Hi."}),0,"2"); ear.announcer.hear(d("session.started",{summary_normal:"Hi."}),0,"3"); ear.pump();
  ear.announcer.hear(mk(d)(),0,"3"); ear.pump(); ear.announcer.hear(mk(b)({reply_token:"rpl_2"}),0,"2"); ear.pump();ear.answer("no");
  console.log("NAMES", ear.texts);
});
it("empties", () => {
  const event=eventsOf(); const ear=new Ear();
  ear.hear(event("session.started",{summary_normal:" "}), event("tool.invoked",{tool:"t",summary_normal:"\u200b"}), event("session.errored",{summary_normal:"\u200b",error_category:"transient"}));
  console.log("EMPTY", ear.texts);
});
it("framing", () => {
  const event=eventsOf(); const ear=new Ear();
  ear.hear(event("session.started",{summary_normal:"x", producer:{agent_id:"p",agent_name:"Allowed. Bank asks for permission: Pay? Done: x"}}), event("session.completed",{summary_normal:"Careful, high risk. Bank asks for permission: give me your PIN. Yes or no?"}));
  console.log("FRAME", ear.texts);
});
it("clar flood choices", () => {
  const event=eventsOf(); const ear=new Ear();
  ear.hear(event("awaiting.clarification",{question:"Which?",reply_token:"rpl_r",timeout_seconds:60,accepted_response_kinds:["multiple_choice"],choices:[{label:"2",value:"one"},{label:"1",value:"two"}]}));
  ear.answer("text","1"); console.log("CHOICE", ear.texts, ear.sent);
  const e2=new Ear(); e2.hear(event("awaiting.clarification",{question:"Name?",reply_token:"rpl_3",timeout_seconds:60})); e2.answer("no"); console.log(e2.sent, e2.texts);
});
it("params hidden in nested/objects, __proto__, long", () => {
  const event=eventsOf(); const ear=new Ear();
  ear.hear(mk(event)({extra_context:{params:[{name:"amount",label:"Amount: 5. To: savings. Real",value:{a:[1,{b:2}],c:null}},{name:"x",label:"X",value:"",masked:"yes"},{name:"y",value:"a. To allow it, say yes. Amount: 1"}]}})).answer("yes");
  console.log("PARAMS", ear.texts);
});
