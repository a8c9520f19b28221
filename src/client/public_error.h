// Maps errors of the client to libtempo's public error codes.
#pragma once

#include "client/client.h"
#include "tempo/error.h"

namespace tempo {

// Of a refusal by tempod.
inline ErrorCode public_code(ipc::Code code) {
  if (code == ipc::Code::not_allowed) return ErrorCode::not_allowed;
  return code == ipc::Code::bad_request ? ErrorCode::bad_request : ErrorCode::refused;
}

inline Error public_error(const client::Error& error) {
  switch (error.code) {
    case client::ErrorCode::not_allowed:
      return {ErrorCode::not_allowed, error.message};
    case client::ErrorCode::refused:
      return {ErrorCode::refused, error.message};
    case client::ErrorCode::bad_request:
      return {ErrorCode::bad_request, error.message};
    case client::ErrorCode::not_running:
    case client::ErrorCode::no_answer:
    case client::ErrorCode::bad_reply:
      break;
  }
  return {ErrorCode::no_daemon, error.message};
}

}  // namespace tempo
