// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Takes header fields out of captured bytes, bit by bit, and writes them as people do.
(function(view) {
// The layout says where a field begins, in bits of the frame; 0 is the highest bit of the first byte.
function bits(hex, begin, length) {
  const end = begin + length;
  if (length <= 0 || Math.ceil(end / 8) * 2 > hex.length) return undefined;
  const first = Math.floor(begin / 8), last = Math.ceil(end / 8);
  const all = BigInt(`0x${hex.slice(first * 2, last * 2)}`);
  return (all >> BigInt(last * 8 - end)) & ((1n << BigInt(length)) - 1n);
}

const hexOf = (value, length) => value.toString(16).padStart(Math.ceil(length / 4), "0");

function ipv6(value) {
  const words = hexOf(value, 128).match(/.{4}/g).map((word) => word.replace(/^0{1,3}/, ""));
  let best = {at: 0, length: 0};
  for (let at = 0; at < 8; ++at) {
    let length = 0;
    while (at + length < 8 && words[at + length] === "0") ++length;
    if (length > best.length) best = {at, length};
  }
  if (best.length < 2) return words.join(":");
  return `${words.slice(0, best.at).join(":")}::${words.slice(best.at + best.length).join(":")}`;
}

function write(value, length, kind) {
  switch (kind) {
    case "hex":
      return `0x${hexOf(value, length)}`;
    case "mac":
      return hexOf(value, 48).match(/../g).join(":");
    case "ipv4":
      return hexOf(value, 32).match(/../g).map((byte) => parseInt(byte, 16)).join(".");
    case "ipv6":
      return ipv6(value);
    default:
      return value.toString();
  }
}

// What number stands for, where the layout's kind has words.
function wordFor(kind, value) {
  const words = view.own(view.data.values, kind);
  return words === undefined ? "" : view.own(words, value.toString()) || "";
}

// Headers, each with its fields, of one packet: name, text, word, meaning, first and last byte in `bytes`.
function ofPacket(packet) {
  const hex = packet.bytes || "";
  return view.list(view.data.layouts[packet.layout])
      .map((header) => ({
             name: header.name,
             fields: view.list(header.fields).map(([name, begin, length, kind]) => {
               const value = bits(hex, begin, length);
               const field = {
                 name,
                 begin,
                 length,
                 kind,
                 first: Math.floor(begin / 8),
                 last: Math.ceil((begin + length) / 8) - 1,
                 text: "not captured",
                 word: "",
                 meaning: view.own(view.data.meanings, `${header.name}.${name}`) || "",
                 isThere: value !== undefined,
               };
               if (value === undefined) return field;
               field.value = value;
               field.text = write(value, length, kind);
               field.word = wordFor(kind, value);
               return field;
             }),
           }));
}

// `bytes` ends with the headers; some writers add the four bytes of the ICRC to it. Either way: headers
// apart from ICRC.
function split(packet) {
  let headers = packet.bytes || "";
  const icrc = packet.icrc || "";
  let end = 0;
  for (const header of view.list(view.data.layouts[packet.layout])) {
    for (const [, begin, length] of view.list(header.fields))
      end = Math.max(end, Math.ceil((begin + length) / 8));
  }
  if (icrc && end && headers.length === end * 2 + icrc.length && headers.endsWith(icrc))
    headers = headers.slice(0, -icrc.length);
  return {headers, icrc};
}

view.fields = {
  bits,
  write,
  wordFor,
  ofPacket,
  split
};
})(window.view);
