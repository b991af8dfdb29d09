import { tryRecipe } from "../try-recipe.mjs";
import { model } from "./model.mjs";
import { help } from "./recipe.mjs";

await tryRecipe(help, model);
