// The page's own script: it sends what the person writes to the server and adds it to the transcript.
const live = document.querySelector("earshot-live");
const form = document.querySelector("#chat");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = form.message.value.trim();
  if (text === "") return;
  form.message.value = "";
  live.addTurn(text);
  await fetch("/chat", { method: "POST", body: text });
});
