// Binary responses: a length, a JSON header, then typed arrays.

export type ElementType = "u8" | "u16" | "f32" | "f64" | "u32" | "i32";
/** The location of an array; the offset counts from the end of the header. */
export type BufferView = { offset: number; length: number; type: ElementType; scale?: number };
export type Frame<Header> = { header: Header; bytes: ArrayBuffer; start: number };
export type Numbers =
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array;

const MISSING: Partial<Record<ElementType, number>> = { u8: 255, u16: 65535 };

export function decodeFrame<Header>(bytes: ArrayBuffer): Frame<Header> {
  if (bytes.byteLength < 4)
    throw new Error(`Invalid response: ${bytes.byteLength} bytes, expected at least 4.`);
  const length = new DataView(bytes).getUint32(0, true);
  if (4 + length > bytes.byteLength)
    throw new Error(
      `Truncated response: the header has ${length} bytes, received ${bytes.byteLength - 4}.`,
    );
  const text = new TextDecoder().decode(new Uint8Array(bytes, 4, length));
  return { header: JSON.parse(text) as Header, bytes, start: 4 + length };
}

/** The array as sent, without a copy; missing values are 255 or 65535. */
export function rawValues(frame: Frame<unknown>, view: BufferView): Numbers {
  const { bytes } = frame;
  const offset = frame.start + view.offset;
  switch (view.type) {
    case "u8":
      return new Uint8Array(bytes, offset, view.length);
    case "u16":
      return new Uint16Array(bytes, offset, view.length);
    case "u32":
      return new Uint32Array(bytes, offset, view.length);
    case "i32":
      return new Int32Array(bytes, offset, view.length);
    case "f32":
      return new Float32Array(bytes, offset, view.length);
    case "f64":
      return new Float64Array(bytes, offset, view.length);
  }
}

/** The values in their unit; missing values are NaN. */
export function scaledValues(frame: Frame<unknown>, view: BufferView): Float64Array {
  const raw = rawValues(frame, view);
  const missing = MISSING[view.type];
  const scale = view.scale ?? 1;
  const values = new Float64Array(raw.length);
  for (let i = 0; i < raw.length; i++) {
    const value = raw[i]!;
    values[i] = value === missing ? NaN : value * scale;
  }
  return values;
}
