import { mount } from "svelte";
import App from "./App.svelte";
import { registry } from "./actions/registry.svelte";
import { LETTERS, showTheme } from "./settings/reading-preferences";
import "./styles/fonts.css";
import "./styles/tokens.css";
import "./styles/components.css";
import "./styles/app.css";

showTheme();
registry.lettersOn = localStorage.getItem(LETTERS) !== "off";
const target = document.getElementById("app");
if (target) mount(App, { target });
