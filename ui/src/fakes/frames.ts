// Frames for tests.

/** A frame as the server encodes it: a padded header followed by the arrays. */
export function frameOf(header: object, bytes: Uint8Array): ArrayBuffer {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const length = text.length + ((8 - ((4 + text.length) % 8)) % 8);
  const frame = new Uint8Array(4 + length + bytes.length).fill(32);
  new DataView(frame.buffer).setUint32(0, length, true);
  frame.set(text, 4);
  frame.set(bytes, 4 + length);
  return frame.buffer;
}
