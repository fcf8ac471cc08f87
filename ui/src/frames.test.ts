import { describe, expect, it } from "vitest";
import { frameOf } from "./fakes/frames";
import { type BufferView, decodeFrame, rawValues, scaledValues } from "./frames";

describe("frames", () => {
  it("contain arrays at offsets from the end of the header", () => {
    const values = new Float32Array([1.5, NaN]);
    const bytes = new Uint8Array(16);
    bytes.set([0, 200, 255], 0);
    bytes.set(new Uint8Array(values.buffer), 8);
    const codes: BufferView = { offset: 0, length: 3, type: "u8", scale: 0.5 };
    const plain: BufferView = { offset: 8, length: 2, type: "f32" };
    const frame = decodeFrame<{ codes: BufferView }>(frameOf({ codes }, bytes));
    expect(frame.header.codes).toEqual(codes);
    expect([...rawValues(frame, codes)]).toEqual([0, 200, 255]);
    expect([...scaledValues(frame, codes)]).toEqual([0, 100, NaN]);
    expect([...scaledValues(frame, plain)]).toEqual([1.5, NaN]);
  });

  it("are rejected if they are truncated", () => {
    expect(() => decodeFrame(new ArrayBuffer(2))).toThrow("2 bytes");
    const cut = new Uint8Array(8);
    new DataView(cut.buffer).setUint32(0, 900, true);
    expect(() => decodeFrame(cut.buffer)).toThrow("900 bytes");
  });
});
