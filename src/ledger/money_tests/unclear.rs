//! Replies of which nothing can be read.

use super::*;

#[tokio::test]
async fn a_page_that_is_not_the_services_counts_as_no_unreadable_answer() {
    for (is_of_another, state) in [(true, State::InDoubt), (false, State::Answered)] {
        let book = Book::new().await;
        let sent = book.sent(FIRST).await;
        let page = book.settled(sent, Outcome::Unreadable, |reply| reply.is_of_another = is_of_another).await;
        assert_eq!(page.unclear, u32::from(!is_of_another));
        assert_eq!(book.comes_to(FIRST, Outcome::Unconvincing).await.state, state, "{is_of_another}");
    }
}
