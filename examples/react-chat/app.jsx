// The same chat in React: the element as a component, and the hook for what the page itself shows.
import { EarshotLive, useEarshot } from "earshot/web/react";
import { useRef, useState } from "react";
import { createRoot } from "react-dom/client";

function Status() {
  const { connection, questions } = useEarshot("/");
  const words = connection.state === "connected" ? `Connected to ${connection.agent}` : "Not connected";
  return (
    <p id="status">
      {words}, {questions === 0 ? "no open question" : `open questions: ${questions}`}.
    </p>
  );
}

function Chat() {
  const live = useRef(null);
  const [text, setText] = useState("");
  const send = async (event) => {
    event.preventDefault();
    if (text.trim() === "") return;
    live.current?.addTurn(text);
    setText("");
    await fetch("/chat", { method: "POST", body: text });
  };
  return (
    <main>
      <h1>Teller</h1>
      <Status />
      <EarshotLive
        src="/"
        onElement={(element) => {
          live.current = element;
        }}
      />
      <form onSubmit={send}>
        <label htmlFor="message">Message</label>
        <input
          id="message"
          autoComplete="off"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button type="submit">Send</button>
      </form>
    </main>
  );
}

createRoot(document.getElementById("root")).render(<Chat />);
