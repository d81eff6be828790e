//! Tenants (interface §6): where their objects, files and services are, and which contexts they may use.

mod clients;
mod contexts;
mod files;
mod places;
mod residence;
mod variable;
