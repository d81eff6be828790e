//! Forks (interface §17). The parent's object takes the request and fixes the turn; the new session's object builds the new
//! session out of what it asks the parent for, and is no session before all of it is there.
//!
//! | file | runs in | does |
//! |---|---|---|
//! | `request` | the parent | decides on the request, and has the new object begin |
//! | `parent_pages` | the parent | gives out rows and texts, a page for each question |
//! | `child` | the new session | begins, joins or shows a fork |
//! | `copying` | the new session | the task that copies, step by step, and resumes what a crash has cut |

mod child;
mod copying;
mod parent_pages;
mod questions;
mod request;
