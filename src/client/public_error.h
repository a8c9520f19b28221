// Maps errors of the client to libtempo's public error codes.
#pragma once

#include "client/client.h"
#include "tempo/error.h"

namespace tempo {

inline Error public_error(const client::Error& error) {
  switch (error.code) {
    case client::ErrorCode::not_allowed:
      return {ErrorCode::not_allowed, error.message};
    case client::ErrorCode::refused:
      return {ErrorCode::refused, error.message};
    case client::ErrorCode::not_running:
    case client::ErrorCode::no_answer:
    case client::ErrorCode::bad_reply:
      break;
  }
  return {ErrorCode::no_daemon, error.message};
}

}  // namespace tempo
