//! Memory for replies: all bodies in flight share one cap. This module decides how a body gets its share, so that
//! replies that wait for each other's memory cannot deadlock.

use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The maximum length of a body.
pub(super) const RESPONSE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// The most memory of one body: while it is decoded, both its coded and its decoded bytes are kept.
const BODY_BYTES_MAX: usize = 2 * RESPONSE_BYTES_MAX;
/// The most memory that all bodies in flight use together.
const ROOM_BYTES_MAX: usize = 256 * 1024 * 1024;
/// A body up to this length reserves memory in small steps. A larger one reserves all it may need at once. Bodies that
/// hold memory while they wait for more therefore hold little, and there is always enough left for one body of any
/// size.
const SMALL_BYTES_MAX: usize = 1024 * 1024;
/// The smallest step in which a body reserves memory.
const STEP_BYTES: usize = 16 * 1024;
const KIB: usize = 1024;

/// The memory that all bodies share.
#[derive(Debug)]
pub(super) struct Rooms {
    kib: Arc<Semaphore>,
    small_bytes_max: usize,
}

impl Rooms {
    /// Room for `in_flight` bodies at once, and for one more: the reply to the balance query.
    pub(super) fn new(in_flight: usize) -> Rooms {
        let each = (ROOM_BYTES_MAX - BODY_BYTES_MAX) / in_flight.saturating_add(1);
        let small_bytes_max = (each - each % STEP_BYTES).clamp(STEP_BYTES, SMALL_BYTES_MAX);
        Rooms { kib: Arc::new(Semaphore::new(ROOM_BYTES_MAX / KIB)), small_bytes_max }
    }

    /// The share of one body, empty at first.
    pub(super) fn room(&self) -> Room {
        Room { shared: Some(Arc::clone(&self.kib)), small_bytes_max: self.small_bytes_max, ..Room::default() }
    }
}

/// The share of one body. Dropping it gives the memory back.
#[derive(Debug, Default)]
pub struct Room {
    /// `None` for a reply that uses no memory of the shared cap.
    shared: Option<Arc<Semaphore>>,
    small_bytes_max: usize,
    /// The length of the body, if the reply states it.
    expected: Option<usize>,
    /// The body has a content coding, and is decoded once it is complete.
    is_coded: bool,
    held: Option<OwnedSemaphorePermit>,
}

impl Clone for Room {
    /// A copy of a body is not in flight: it has no share of the cap.
    fn clone(&self) -> Room {
        Room::default()
    }
}

impl Room {
    /// Notes the length that the reply states for its body, and whether the body has to be decoded.
    pub(super) fn expect(&mut self, bytes: Option<u64>, is_coded: bool) {
        self.expected = bytes.filter(|_| !is_coded).and_then(|bytes| usize::try_from(bytes).ok());
        self.is_coded = is_coded;
    }

    /// Waits until a complete body may be decoded, whatever the length it turns out to have.
    pub(super) async fn grow_to_decode(&mut self) {
        self.grow_to(BODY_BYTES_MAX).await;
    }

    /// Waits until the body may have this length, and returns the length that is reserved.
    pub(super) async fn grow_to(&mut self, bytes: usize) -> usize {
        let Some(shared) = &self.shared else { return bytes };
        let held = self.held_bytes();
        if bytes <= held {
            return held;
        }
        let wanted = self.wanted(bytes, held);
        let more = u32::try_from((wanted - held) / KIB).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        if let Ok(more) = Arc::clone(shared).acquire_many_owned(more).await {
            match &mut self.held {
                Some(held) => held.merge(more),
                None => self.held = Some(more),
            }
        }
        wanted
    }

    /// Gives back what a complete body of this length does not need.
    pub(super) fn shrink_to(&mut self, bytes: usize) {
        let surplus = self.held_bytes().saturating_sub(bytes) / KIB;
        if let Some(held) = &mut self.held {
            drop(held.split(surplus));
        }
    }

    fn held_bytes(&self) -> usize {
        self.held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits) * KIB
    }

    /// How much a body reserves next: whole steps, doubling while it is small, and all it may need once it is not.
    fn wanted(&self, bytes: usize, held: usize) -> usize {
        let next = if bytes <= self.small_bytes_max {
            bytes.max((held * 2).min(self.small_bytes_max))
        } else {
            let most = if self.is_coded { BODY_BYTES_MAX } else { RESPONSE_BYTES_MAX };
            self.expected.unwrap_or(most).clamp(bytes, most.max(bytes))
        };
        next.next_multiple_of(STEP_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const MIB: usize = 1024 * KIB;

    #[test]
    fn a_small_body_reserves_memory_in_steps_and_a_large_one_all_it_may_need() {
        let wanted = |bytes, held, expected| Room { expected, ..Rooms::new(64).room() }.wanted(bytes, held);
        assert_eq!(wanted(1, 0, None), STEP_BYTES);
        assert_eq!(wanted(STEP_BYTES + 1, STEP_BYTES, None), 2 * STEP_BYTES);
        assert_eq!(wanted(MIB, 600 * KIB, None), MIB);
        assert_eq!(wanted(MIB + 1, MIB, None), RESPONSE_BYTES_MAX);
        assert_eq!(wanted(MIB + 1, MIB, Some(3 * MIB)), 3 * MIB);
        assert_eq!(wanted(MIB + 1, MIB, Some(7)), MIB + STEP_BYTES, "a length that is wrong");
        assert_eq!(wanted(MIB + 1, MIB, Some(usize::MAX)), RESPONSE_BYTES_MAX);
    }

    #[test]
    fn there_is_always_room_for_one_body_of_any_size() {
        for in_flight in [1, 16, 64, 1_000, 5_000] {
            let rooms = Rooms::new(in_flight);
            assert!((in_flight + 1) * rooms.small_bytes_max + BODY_BYTES_MAX <= ROOM_BYTES_MAX, "{in_flight}");
        }
        assert_eq!(Rooms::new(64).small_bytes_max, SMALL_BYTES_MAX);
    }

    /// 64 bodies of unknown length are received and decoded in parallel.
    #[tokio::test(start_paused = true)]
    async fn bodies_that_are_decoded_do_not_wait_for_each_other() {
        let rooms = Rooms::new(64);
        let bodies = (0..64).map(|nth| {
            let mut room = rooms.room();
            async move {
                room.expect(Some(1), true);
                room.grow_to(if nth % 2 == 0 { 300 * KIB } else { 3 * MIB }).await;
                tokio::time::sleep(Duration::from_millis(1)).await;
                room.grow_to_decode().await;
                assert_eq!(room.held_bytes(), BODY_BYTES_MAX);
            }
        });
        let all = futures::future::join_all(bodies);
        assert!(tokio::time::timeout(Duration::from_secs(60), all).await.is_ok());
    }

    #[tokio::test]
    async fn a_complete_body_releases_the_memory_it_does_not_need() {
        let rooms = Rooms::new(64);
        let mut room = rooms.room();
        room.grow_to(2 * MIB).await;
        assert_eq!(room.held_bytes(), RESPONSE_BYTES_MAX);
        room.shrink_to(2 * MIB - 5);
        assert_eq!(room.held_bytes(), 2 * MIB);
        room.shrink_to(0);
        assert_eq!(rooms.kib.available_permits(), ROOM_BYTES_MAX / KIB);
    }

    #[tokio::test(start_paused = true)]
    async fn the_memory_limit_covers_all_bodies_together() {
        let rooms = Rooms::new(64);
        let mut held = Vec::new();
        for _ in 0..ROOM_BYTES_MAX / RESPONSE_BYTES_MAX {
            let mut room = rooms.room();
            assert_eq!(room.grow_to(RESPONSE_BYTES_MAX).await, RESPONSE_BYTES_MAX);
            held.push(room);
        }
        let mut one_more = rooms.room();
        let waits = tokio::time::timeout(Duration::from_secs(60), one_more.grow_to(1)).await;
        assert!(waits.is_err());
        held.pop();
        assert_eq!(one_more.grow_to(1).await, STEP_BYTES);
    }

    /// 64 bodies of unknown length grow in parallel to the maximum length.
    #[tokio::test(start_paused = true)]
    async fn bodies_that_wait_for_memory_do_not_wait_for_each_other() {
        let rooms = Rooms::new(64);
        let bodies = (0..64).map(|_| {
            let mut room = rooms.room();
            async move {
                let mut bytes = 0;
                while bytes < RESPONSE_BYTES_MAX {
                    bytes = (bytes + 300 * KIB).min(RESPONSE_BYTES_MAX);
                    room.grow_to(bytes).await;
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
        });
        let all = futures::future::join_all(bodies);
        assert!(tokio::time::timeout(Duration::from_secs(60), all).await.is_ok());
        assert_eq!(rooms.kib.available_permits(), ROOM_BYTES_MAX / KIB, "all of it is given back");
    }
}
