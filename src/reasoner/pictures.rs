//! Pictures in a model output become files of the turn (interface §4, §8), stored in the step that stores
//! the output. One that cannot be kept costs a user warning, not the turn.

use super::running_turn::{Reasoner, RunningTurn};
use crate::contract::UserWarning;
use crate::files::{FileFailure, FileLinks, keep_picture};
use crate::ports::{Database, Platform};
use crate::responses_api::{ModelOutput, Picture, pictures};

/// The most files of one turn; its row lists all of them.
pub(super) const MAX_FILES: usize = 1_000;

impl<P: Platform, D: Database + 'static> Reasoner<P, D> {
    /// Adds the pictures of an output to the files of the turn.
    pub(super) async fn keep_pictures(&self, running: &mut RunningTurn<'_>, output: &ModelOutput) {
        for picture in output.items.iter().flat_map(|item| pictures(item)) {
            let progress = &mut running.turn.progress;
            let links = FileLinks { origin: &progress.origin, ttl_s: self.deployment.file_ttl_s };
            let number = progress.files.len() + 1;
            let kept = match picture {
                Picture::Given(base64) if number <= MAX_FILES => {
                    keep_picture(self.platform.as_ref(), links, number, &base64).await
                }
                Picture::Given(_) | Picture::Elsewhere => Err(FileFailure::NotKept),
            };
            let warning = match kept {
                Ok(file) => {
                    file.collect(&mut progress.files);
                    continue;
                }
                Err(FileFailure::NoPlace) => UserWarning::NoPlaceForPictures,
                Err(_) => UserWarning::PictureNotKept,
            };
            warning.add_once(&mut progress.user_warnings);
        }
    }
}
