//! Support for the scenario tests.
