// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "observation.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../test_client.h"

static FILE* output;
static const char* separator = "{";

void observe_begin(const char* file) {
  output = file == NULL ? stdout : fopen(file, "w");
  if (output == NULL) broken("cannot write %s: %s", file, strerror(errno));
}

void observe_end(void) {
  fprintf(output, "\n}\n");
  if (fflush(output) != 0 || (output != stdout && fclose(output) != 0))
    broken("cannot write the observations");
}

/* Texts that this program writes have neither quotes nor backslashes, and a device's may. */
static void put_text(const char* text) {
  fputc('"', output);
  for (; *text != '\0'; ++text) {
    const unsigned char byte = (unsigned char)*text;
    if (byte == '"' || byte == '\\') fputc('\\', output);
    if (byte >= ' ') fputc(byte, output);
  }
  fputc('"', output);
}

static void put_name(const char* name, va_list arguments) {
  char text[256];
  vsnprintf(text, sizeof text, name, arguments);
  fprintf(output, "%s\n  ", separator);
  separator = ",";
  put_text(text);
  fputs(": ", output);
}

void observe_number(uint64_t value, const char* name, ...) {
  va_list arguments;
  va_start(arguments, name);
  put_name(name, arguments);
  va_end(arguments);
  fprintf(output, "%" PRIu64, value);
}

void observe_text(const char* value, const char* name, ...) {
  va_list arguments;
  va_start(arguments, name);
  put_name(name, arguments);
  va_end(arguments);
  put_text(value);
}

void observe_bool(bool value, const char* name, ...) {
  va_list arguments;
  va_start(arguments, name);
  put_name(name, arguments);
  va_end(arguments);
  fputs(value ? "true" : "false", output);
}

void observe_nothing(const char* reason, const char* name, ...) {
  va_list arguments;
  va_start(arguments, name);
  put_name(name, arguments);
  va_end(arguments);
  char text[256];
  snprintf(text, sizeof text, "not observed: %s", reason);
  put_text(text);
}

const char* error_name(int error) {
  if (error == 0) return "ok";
  const char* const name = strerrorname_np(error);
  if (name != NULL) return name;
  static char number[32];
  snprintf(number, sizeof number, "%d", error);
  return number;
}

/* A name of a table, or the number. */
static const char* name_in(const char* const* names, size_t count, int value) {
  if (value >= 0 && (size_t)value < count && names[value] != NULL) return names[value];
  static char number[32];
  snprintf(number, sizeof number, "%d", value);
  return number;
}

const char* status_name(enum ibv_wc_status status) {
  static const char* const names[] = {"SUCCESS",
                                      "LOC_LEN_ERR",
                                      "LOC_QP_OP_ERR",
                                      "LOC_EEC_OP_ERR",
                                      "LOC_PROT_ERR",
                                      "WR_FLUSH_ERR",
                                      "MW_BIND_ERR",
                                      "BAD_RESP_ERR",
                                      "LOC_ACCESS_ERR",
                                      "REM_INV_REQ_ERR",
                                      "REM_ACCESS_ERR",
                                      "REM_OP_ERR",
                                      "RETRY_EXC_ERR",
                                      "RNR_RETRY_EXC_ERR",
                                      "LOC_RDD_VIOL_ERR",
                                      "REM_INV_RD_REQ_ERR",
                                      "REM_ABORT_ERR",
                                      "INV_EECN_ERR",
                                      "INV_EEC_STATE_ERR",
                                      "FATAL_ERR",
                                      "RESP_TIMEOUT_ERR",
                                      "GENERAL_ERR",
                                      "TM_ERR",
                                      "TM_RNDV_INCOMPLETE"};
  return name_in(names, sizeof names / sizeof *names, status);
}

const char* state_name(enum ibv_qp_state state) {
  static const char* const names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  return name_in(names, sizeof names / sizeof *names, state);
}

const char* event_name(enum ibv_event_type event) {
  static const char* const names[] = {"CQ_ERR",
                                      "QP_FATAL",
                                      "QP_REQ_ERR",
                                      "QP_ACCESS_ERR",
                                      "COMM_EST",
                                      "SQ_DRAINED",
                                      "PATH_MIG",
                                      "PATH_MIG_ERR",
                                      "DEVICE_FATAL",
                                      "PORT_ACTIVE",
                                      "PORT_ERR",
                                      "LID_CHANGE",
                                      "PKEY_CHANGE",
                                      "SM_CHANGE",
                                      "SRQ_ERR",
                                      "SRQ_LIMIT_REACHED",
                                      "QP_LAST_WQE_REACHED",
                                      "CLIENT_REREGISTER",
                                      "GID_CHANGE",
                                      "WQ_FATAL"};
  return name_in(names, sizeof names / sizeof *names, event);
}
