// Prints the schemas of the operators that the runtime has, a line each.
#include <iostream>

#include "engine/executorch/operators/register.h"
#include "kernels/operator_schema.h"

int main() {
  for (const polystate::OperatorSchema& schema : polystate::operator_schemas()) {
    std::cout << schema.text() << '\n';
  }
}
