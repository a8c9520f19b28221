// What libtempo's users are told of a failure.
#pragma once

#include "client/client.h"
#include "tempo/failure.h"

namespace tempo {

inline Failure public_failure(const client::Failure& failure) {
  switch (failure.trouble) {
    case client::Trouble::not_allowed:
      return {Trouble::not_allowed, failure.sentence};
    case client::Trouble::refused:
      return {Trouble::refused, failure.sentence};
    case client::Trouble::not_running:
    case client::Trouble::no_answer:
    case client::Trouble::nonsense:
      break;
  }
  return {Trouble::no_daemon, failure.sentence};
}

}  // namespace tempo
