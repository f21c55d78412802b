// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A responder of one reliable connection of RoCEv2 over IPv4: it carries out RDMA WRITE and READ in a memory of
// its own. A byte goes in, or out, in each cycle. It is written from the rules as FACTS.md and SUPPORT.md of
// urnic have them, and shares nothing with urnic, so that each is a check of the other.
//
// A frame is taken as a whole (RECEIVE), looked at (CHECK), carried out (STORE) and answered (ANSWER, once for
// each packet); the next one waits meanwhile. It has no timers and no RNR, as a responder without receive queue
// needs none.

/* Places in a frame have 16 bits and literals 32: sums are as wide as the wider one, which is what is meant. */
/* verilator lint_off WIDTH */
module roce_responder #(
    parameter int MEMORY_BYTES = 262144,
    parameter int FRAME_BYTES = 4300
) (
    input logic clock,
    input logic reset,

    // The connection; applied while `connect` is high.
    input logic        connect,
    input logic [23:0] own_qp,
    input logic [23:0] peer_qp,
    input logic [23:0] first_psn,
    input logic [31:0] rkey,
    input logic [63:0] address,    // by which the peer names the memory's first byte
    input logic [31:0] bytes,      // of memory that it may reach
    input logic [12:0] path_mtu,

    // Frames from the destination MAC on; the last byte has `in_last`.
    input  logic [7:0] in_data,
    input  logic       in_valid,
    input  logic       in_last,
    output logic       in_ready,
    output logic [7:0] out_data,
    output logic       out_valid,
    output logic       out_last,

    output logic        is_idle,
    output logic        is_connected,  // until a request is refused
    output logic [23:0] expected_psn,
    output logic [31:0] dropped,   // frames that were not for the connection, or damaged, or answers
    output logic [31:0] refused    // requests that were answered by a NAK
);

  // Where fields stand in a frame.
  localparam int IP = 14, UDP = 34, BTH = 42, EXTENDED = 54;
  localparam int RETH_BYTES = 16, AETH_BYTES = 4, ICRC_BYTES = 4;

  localparam logic [7:0] WRITE_FIRST = 8'h06, WRITE_MIDDLE = 8'h07, WRITE_LAST = 8'h08, WRITE_ONLY = 8'h0a;
  localparam logic [7:0] READ_REQUEST = 8'h0c;
  localparam logic [7:0] READ_FIRST = 8'h0d, READ_MIDDLE = 8'h0e, READ_LAST = 8'h0f, READ_ONLY = 8'h10;
  localparam logic [7:0] ACKNOWLEDGE = 8'h11, ATOMIC_ACKNOWLEDGE = 8'h12;

  // Syndromes of an AETH.
  localparam logic [7:0] ACK = 8'h1f;  // without a count of credits
  localparam logic [7:0] NAK_SEQUENCE = 8'h60, NAK_INVALID = 8'h61, NAK_ACCESS = 8'h62;

  typedef enum logic [2:0] {RECEIVE, CHECK, STORE, ANSWER, NEXT} state_t;
  state_t state;

  localparam int PLACE_BITS = $clog2(MEMORY_BYTES);
  logic [7:0] memory[MEMORY_BYTES] /* verilator public_flat_rw */;
  logic [7:0] frame[FRAME_BYTES];
  logic [15:0] at;            // byte of the frame that comes or goes
  logic [31:0] crc;

  // The connection.
  logic [23:0] msn;
  logic        has_sent_sequence_nak;
  logic        is_writing;    // inside a message of several packets
  logic [63:0] write_address;
  logic [31:0] write_left;

  // --- What has come ---

  wire [15:0] ip_bytes = {frame[IP+2], frame[IP+3]};
  wire [15:0] ip_end = IP + ip_bytes;
  wire [7:0] opcode = frame[BTH];
  wire [1:0] pad = frame[BTH+1][5:4];
  wire [23:0] destination_qp = {frame[BTH+5], frame[BTH+6], frame[BTH+7]};
  wire wants_ack = frame[BTH+8][7];
  wire [23:0] psn = {frame[BTH+9], frame[BTH+10], frame[BTH+11]};
  wire has_reth = opcode == WRITE_FIRST || opcode == WRITE_ONLY || opcode == READ_REQUEST;
  wire [63:0] reth_address = {frame[EXTENDED], frame[EXTENDED+1], frame[EXTENDED+2], frame[EXTENDED+3],
                              frame[EXTENDED+4], frame[EXTENDED+5], frame[EXTENDED+6], frame[EXTENDED+7]};
  wire [31:0] reth_rkey = {frame[EXTENDED+8], frame[EXTENDED+9], frame[EXTENDED+10], frame[EXTENDED+11]};
  wire [31:0] reth_length = {frame[EXTENDED+12], frame[EXTENDED+13], frame[EXTENDED+14], frame[EXTENDED+15]};
  wire [15:0] payload_at = has_reth ? EXTENDED + RETH_BYTES : EXTENDED;
  wire [15:0] payload_bytes = ip_end - ICRC_BYTES - payload_at - {14'b0, pad};

  // --- ICRC: CRC-32, least significant bit first, over the packet with some fields as ones ---

  // Of the eight bytes of ones that stand for the link header of InfiniBand.
  localparam logic [31:0] SEED = 32'hdebb20e3;

  function automatic logic [31:0] next_crc(input logic [31:0] old, input logic [7:0] data);
    next_crc = old ^ {24'b0, data};
    for (int i = 0; i < 8; ++i) next_crc = next_crc[0] ? (next_crc >> 1) ^ 32'hedb88320 : next_crc >> 1;
  endfunction

  // Type of service, time to live and checksum of IP, the checksum of UDP, and the byte of the BTH that has FECN
  // and BECN may change on the way.
  function automatic logic is_masked(input logic [15:0] place);
    is_masked = place == IP + 1 || place == IP + 8 || place == IP + 10 || place == IP + 11 ||
                place == UDP + 6 || place == UDP + 7 || place == BTH + 4;
  endfunction

  // --- Checks, in the order in which they count ---

  wire is_whole = at >= EXTENDED + ICRC_BYTES && ip_bytes >= 16'd44 && ip_end <= at;
  wire is_for_us = {frame[12], frame[13]} == 16'h0800 && frame[IP] == 8'h45 && frame[IP+9] == 8'd17 &&
                   {frame[UDP+2], frame[UDP+3]} == 16'd4791 && destination_qp == own_qp && is_connected;
  wire [31:0] carried_crc = {frame[ip_end-1], frame[ip_end-2], frame[ip_end-3], frame[ip_end-4]};
  wire has_right_crc = carried_crc == ~crc;

  wire [23:0] distance = psn - expected_psn;
  wire is_repeated = distance[23];
  wire is_future = distance != 0 && !is_repeated;

  wire is_write = opcode == WRITE_FIRST || opcode == WRITE_MIDDLE || opcode == WRITE_LAST ||
                  opcode == WRITE_ONLY;
  wire is_read = opcode == READ_REQUEST;
  // Answers are for requesters (fact 25).
  wire is_answer = opcode >= READ_FIRST && opcode <= ATOMIC_ACKNOWLEDGE;
  wire continues = opcode == WRITE_MIDDLE || opcode == WRITE_LAST;
  wire is_end = opcode == WRITE_LAST || opcode == WRITE_ONLY;
  wire [31:0] left = has_reth ? reth_length : write_left;
  wire [63:0] target = has_reth ? reth_address : write_address;

  wire has_right_length =
      is_read ? payload_bytes == 0 :
      opcode == WRITE_ONLY ? {16'b0, payload_bytes} == left && payload_bytes <= {3'b0, path_mtu} :
      opcode == WRITE_LAST ? {16'b0, payload_bytes} == left && payload_bytes != 0 &&
                             payload_bytes <= {3'b0, path_mtu} :
                             payload_bytes == {3'b0, path_mtu} && left > {16'b0, payload_bytes};
  wire is_valid = (is_write || is_read) && continues == is_writing && has_right_length;
  wire [63:0] offset = target - address;
  wire is_allowed = !has_reth || reth_length == 0 ||
                    (reth_rkey == rkey && offset < {32'b0, bytes} && {32'b0, reth_length} <= {32'b0, bytes} - offset);

  // --- The answer ---

  logic [7:0] answer_opcode, answer_syndrome;
  logic [23:0] answer_psn;
  logic [15:0] answer_payload;
  logic [31:0] read_left;      // after this packet
  logic [63:0] read_offset;
  logic [15:0] stored;

  wire answer_has_aeth = answer_opcode != READ_MIDDLE;
  wire [1:0] answer_pad = -answer_payload[1:0];
  wire [15:0] answer_data_at = answer_has_aeth ? EXTENDED + AETH_BYTES : EXTENDED;
  wire [15:0] answer_crc_at = answer_data_at + answer_payload + {14'b0, answer_pad};
  wire [15:0] answer_end = answer_crc_at + ICRC_BYTES;
  wire [15:0] answer_ip_bytes = answer_end - IP;
  wire [15:0] answer_udp_bytes = answer_end - UDP;

  function automatic logic [15:0] folded(input logic [19:0] sum);
    logic [16:0] once;
    once = {1'b0, sum[15:0]} + {13'b0, sum[19:16]};
    folded = once[15:0] + {15'b0, once[16]};
  endfunction
  // Do not fragment, 64 hops, UDP; the sender of the request is the destination.
  wire [15:0] ip_checksum = ~folded(20'h04500 + {4'b0, answer_ip_bytes} + 20'h04000 + 20'h04011 +
      {4'b0, frame[IP+12], frame[IP+13]} + {4'b0, frame[IP+14], frame[IP+15]} +
      {4'b0, frame[IP+16], frame[IP+17]} + {4'b0, frame[IP+18], frame[IP+19]});

  wire [1:0] crc_byte = 2'(at - answer_crc_at);
  wire [31:0] final_crc = ~crc;

  always_comb begin
    unique case (1'b1)
      at < 6: out_data = frame[at+6];
      at >= 6 && at < 12: out_data = frame[at-6];
      at == 12: out_data = 8'h08;
      at == IP: out_data = 8'h45;
      at == IP + 2: out_data = answer_ip_bytes[15:8];
      at == IP + 3: out_data = answer_ip_bytes[7:0];
      at == IP + 6: out_data = 8'h40;
      at == IP + 8: out_data = 8'd64;
      at == IP + 9: out_data = 8'd17;
      at == IP + 10: out_data = ip_checksum[15:8];
      at == IP + 11: out_data = ip_checksum[7:0];
      at >= IP + 12 && at < IP + 16: out_data = frame[at+4];
      at >= IP + 16 && at < IP + 20: out_data = frame[at-4];
      at == UDP: out_data = 8'hc0;
      at == UDP + 2: out_data = 8'h12;
      at == UDP + 3: out_data = 8'hb7;
      at == UDP + 4: out_data = answer_udp_bytes[15:8];
      at == UDP + 5: out_data = answer_udp_bytes[7:0];
      at == BTH: out_data = answer_opcode;
      at == BTH + 1: out_data = {2'b00, answer_pad, 4'b0};
      at == BTH + 2: out_data = frame[BTH+2];
      at == BTH + 3: out_data = frame[BTH+3];
      at == BTH + 5: out_data = peer_qp[23:16];
      at == BTH + 6: out_data = peer_qp[15:8];
      at == BTH + 7: out_data = peer_qp[7:0];
      at == BTH + 9: out_data = answer_psn[23:16];
      at == BTH + 10: out_data = answer_psn[15:8];
      at == BTH + 11: out_data = answer_psn[7:0];
      answer_has_aeth && at == EXTENDED: out_data = answer_syndrome;
      answer_has_aeth && at == EXTENDED + 1: out_data = msn[23:16];
      answer_has_aeth && at == EXTENDED + 2: out_data = msn[15:8];
      answer_has_aeth && at == EXTENDED + 3: out_data = msn[7:0];
      at >= answer_data_at && at < answer_data_at + answer_payload:
        out_data = memory[PLACE_BITS'(read_offset + 64'(at - answer_data_at))];
      at >= answer_crc_at: out_data = final_crc[8*crc_byte+:8];
      default: out_data = 8'h00;
    endcase
  end

  assign in_ready = state == RECEIVE;
  assign out_valid = state == ANSWER;
  assign out_last = state == ANSWER && at + 1 == answer_end;
  assign is_idle = state == RECEIVE && at == 0;

  // --- States ---

  task automatic acknowledge(input logic [7:0] syndrome, input logic [23:0] of_psn);
    answer_opcode <= ACKNOWLEDGE;
    answer_syndrome <= syndrome;
    answer_psn <= of_psn;
    answer_payload <= 0;
    read_left <= 0;
    begin_answer();
  endtask

  task automatic begin_answer();
    at <= 0;
    crc <= SEED;
    state <= ANSWER;
  endtask

  task automatic begin_frame();
    at <= 0;
    crc <= SEED;
    state <= RECEIVE;
  endtask

  task automatic answer_read();
    answer_syndrome <= ACK;
    answer_psn <= psn;
    read_offset <= offset;
    if (reth_length <= {19'b0, path_mtu}) begin
      answer_opcode <= READ_ONLY;
      answer_payload <= reth_length[15:0];
      read_left <= 0;
    end else begin
      answer_opcode <= READ_FIRST;
      answer_payload <= {3'b0, path_mtu};
      read_left <= reth_length - {19'b0, path_mtu};
    end
    begin_answer();
  endtask

  // How many PSNs the request takes.
  wire [23:0] read_packets =
      reth_length == 0 ? 24'd1 : 24'((reth_length + {19'b0, path_mtu} - 1) / {19'b0, path_mtu});

  always_ff @(posedge clock) begin
    if (reset) begin
      is_connected <= 0;
      dropped <= 0;
      refused <= 0;
      begin_frame();
    end else if (connect) begin
      is_connected <= 1;
      expected_psn <= first_psn;
      msn <= 0;
      has_sent_sequence_nak <= 0;
      is_writing <= 0;
      begin_frame();
    end else begin
      case (state)
        RECEIVE:
        if (in_valid) begin
          if (at < FRAME_BYTES) frame[at] <= in_data;
          // Before the length has come there is no end in sight.
          if (at >= IP && (at < IP + 4 || at < ip_end - ICRC_BYTES)) begin
            crc <= next_crc(crc, is_masked(at) ? 8'hff : in_data);
          end
          at <= at + 1;
          if (in_last) state <= CHECK;
        end

        CHECK:
        if (!is_whole || !is_for_us || !has_right_crc || is_answer) begin
          dropped <= dropped + 1;
          begin_frame();
        end else if (is_repeated) begin
          // A READ is answered from memory again; a WRITE is not carried out twice.
          if (is_read && is_allowed) answer_read();
          else acknowledge(ACK, expected_psn - 1);
        end else if (is_future) begin
          has_sent_sequence_nak <= 1;
          if (has_sent_sequence_nak) begin_frame();
          else begin
            refused <= refused + 1;
            acknowledge(NAK_SEQUENCE, expected_psn);
          end
        end else if (!is_valid || !is_allowed) begin
          refused <= refused + 1;
          is_connected <= 0;
          acknowledge(is_valid ? NAK_ACCESS : NAK_INVALID, psn);
        end else begin
          has_sent_sequence_nak <= 0;
          if (is_read) begin
            expected_psn <= expected_psn + read_packets;
            msn <= msn + 1;
            answer_read();
          end else begin
            expected_psn <= expected_psn + 1;
            if (is_end) msn <= msn + 1;
            is_writing <= !is_end;
            write_address <= target + {48'b0, payload_bytes};
            write_left <= left - {16'b0, payload_bytes};
            read_offset <= offset;
            stored <= 0;
            state <= STORE;
          end
        end

        STORE:
        if (stored != payload_bytes) begin
          memory[PLACE_BITS'(read_offset + 64'(stored))] <= frame[payload_at+stored];
          stored <= stored + 1;
        end else if (wants_ack) acknowledge(ACK, psn);
        else begin_frame();

        ANSWER: begin
          if (at >= IP && at < answer_crc_at) crc <= next_crc(crc, is_masked(at) ? 8'hff : out_data);
          at <= at + 1;
          if (out_last) state <= NEXT;
        end

        default:  // NEXT
        if (read_left == 0) begin_frame();
        else begin
          answer_psn <= answer_psn + 1;
          read_offset <= read_offset + {48'b0, answer_payload};
          if (read_left <= {19'b0, path_mtu}) begin
            answer_opcode <= READ_LAST;
            answer_payload <= read_left[15:0];
            read_left <= 0;
          end else begin
            answer_opcode <= READ_MIDDLE;
            read_left <= read_left - {19'b0, path_mtu};
          end
          begin_answer();
        end
      endcase
    end
  end

endmodule
