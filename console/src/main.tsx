import { render } from "preact";
import { App } from "./app/App.tsx";
import "./style/tokens.css";
import "./style/base.css";
import "./style/ui.css";
import "./app/app.css";

const root = document.getElementById("console");
if (root !== null) render(<App />, root);
