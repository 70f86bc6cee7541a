// A program as part of a link: compressed, behind the '#', so that no server sees it.
import type { Project } from "./messages";

const SIGN = "#p=";

async function pipe(bytes: Uint8Array, through: CompressionStream | DecompressionStream):
    Promise<Uint8Array> {
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(through);
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export async function projectToHash(project: Project): Promise<string> {
  const text = new TextEncoder().encode(JSON.stringify(project));
  const bytes = await pipe(text, new CompressionStream("deflate-raw"));
  let binary = "";
  for (const byte of bytes)
    binary += String.fromCharCode(byte);
  return SIGN + btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function isProject(value: unknown): value is Project {
  const p = value as Partial<Project> | null;
  return typeof p === "object" && p !== null && typeof p.main === "string" &&
         typeof p.options === "string" && typeof p.run === "string" &&
         typeof p.files === "object" && p.files !== null &&
         Object.values(p.files).every((text) => typeof text === "string") && p.main in p.files;
}

/** Undefined: the link has no program. Throws an Error if it has a broken one. */
export async function projectFromHash(hash: string): Promise<Project | undefined> {
  if (!hash.startsWith(SIGN))
    return undefined;
  try {
    const binary = atob(hash.slice(SIGN.length).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (c) => c.charCodeAt(0));
    const text = await pipe(bytes, new DecompressionStream("deflate-raw"));
    const value: unknown = JSON.parse(new TextDecoder().decode(text));
    if (isProject(value))
      return value;
  } catch { /* the message below */ }
  throw new Error("the program in the link is broken: perhaps the link was cut off");
}
