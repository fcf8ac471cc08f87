// Binary answers of the server: a length, a JSON header, then typed arrays.

export type PartType = "u8" | "u16" | "f32" | "f64" | "u32" | "i32";
/** Where one array lies: the offset counts from the end of the header. */
export type Part = { offset: number; length: number; type: PartType; scale?: number };
export type Frame<Header> = { header: Header; bytes: ArrayBuffer; start: number };
export type Numbers =
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array;

const MISSING: Partial<Record<PartType, number>> = { u8: 255, u16: 65535 };

export function decodeFrame<Header>(bytes: ArrayBuffer): Frame<Header> {
  if (bytes.byteLength < 4)
    throw new Error(`The answer has ${bytes.byteLength} bytes; a frame has at least 4.`);
  const length = new DataView(bytes).getUint32(0, true);
  if (4 + length > bytes.byteLength)
    throw new Error(`The frame's header says ${length} bytes; only ${bytes.byteLength - 4} came.`);
  const text = new TextDecoder().decode(new Uint8Array(bytes, 4, length));
  return { header: JSON.parse(text) as Header, bytes, start: 4 + length };
}

/** The array as it was sent, without a copy; missing values are still 255 / 65535. */
export function rawPart(frame: Frame<unknown>, part: Part): Numbers {
  const { bytes } = frame;
  const offset = frame.start + part.offset;
  switch (part.type) {
    case "u8":
      return new Uint8Array(bytes, offset, part.length);
    case "u16":
      return new Uint16Array(bytes, offset, part.length);
    case "u32":
      return new Uint32Array(bytes, offset, part.length);
    case "i32":
      return new Int32Array(bytes, offset, part.length);
    case "f32":
      return new Float32Array(bytes, offset, part.length);
    case "f64":
      return new Float64Array(bytes, offset, part.length);
  }
}

/** The values in their unit; what is missing is NaN. */
export function partValues(frame: Frame<unknown>, part: Part): Float64Array {
  const raw = rawPart(frame, part);
  const missing = MISSING[part.type];
  const scale = part.scale ?? 1;
  const values = new Float64Array(raw.length);
  for (let i = 0; i < raw.length; i++) {
    const value = raw[i]!;
    values[i] = value === missing ? NaN : value * scale;
  }
  return values;
}
